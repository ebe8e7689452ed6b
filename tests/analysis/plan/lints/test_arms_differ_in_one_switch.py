LINT = "arms_differ_in_one_switch"


def test_finds_arms_of_v2_with_other_rates_updates_or_seeds(v2, found):
    assert "differ in lr" in found(v2, LINT, {"arms.1.lr": 4e-5})[0].message
    assert "differ in updates_per_batch" in found(v2, LINT, {"arms.1.updates_per_batch": 1})[0].message
    assert "different seeds" in found(v2, LINT, {"arms.1.seed": 1})[0].message
    assert "there is no treatment" in found(v2, LINT, {"arms.1.loss": "grpo_clip_eps0.2"})[0].message


def test_finds_conditions_with_other_seeds(demo, found):
    (finding,) = found(demo, LINT, {"arms.1.seed": 1})
    assert "grpo has seeds [0], dppo has [1]" in finding.message


def test_finds_that_there_is_no_treatment(demo, found):
    (finding,) = found(demo, LINT, {"arms.1.loss": "grpo"})
    assert "there is no treatment" in finding.message


def test_finds_a_second_difference_between_the_losses(demo, found):
    (finding,) = found(demo, LINT, {"losses.dppo.truncation": 5.0})
    assert finding.severity == "warn"
    assert "truncation" in finding.message
    (finding,) = found(demo, LINT, {"losses.dppo.form": "score"})
    assert "form" in finding.message


def test_finds_other_learning_rates_to_choose_from(demo, found):
    (finding,) = found(demo, LINT, {"sweep": {"learning_rates": {"grpo": [1e-4], "dppo": [1e-4, 3e-4]}}})
    assert finding.path == "sweep.learning_rates"


def test_finds_two_treatments(demo, found):
    third = {"name": "x", "role": "treatment", "condition": "x", "seed": 0, "loss": "dppo"}
    (finding,) = found(demo, LINT, {"arms": [*demo["arms"], third]})
    assert "2 treatment conditions" in finding.message


def test_silent_where_only_the_loss_differs(v2, demo, resolved_v1, resolved_v2, found):
    for document in (v2, demo, resolved_v1, resolved_v2):
        assert found(document, LINT) == []
    same = {"sweep": {"learning_rates": {"grpo": [1e-4, 3e-4], "dppo": [3e-4, 1e-4]}}}
    assert found(demo, LINT, same) == []


CRITIC = {"critic": {"capacity": "small", "learning_rate": 1e-3, "epochs": 2}, "normalization": "z_score"}


def test_other_advantages_are_one_switch_and_another_loss_beside_them_is_a_second(demo, found):
    one = {"advantages": {"ppo": CRITIC}, "arms.1.advantage": "ppo", "arms.1.loss": "grpo"}
    assert found(demo, LINT, one) == []
    two = {"advantages": {"ppo": CRITIC}, "arms.1.advantage": "ppo"}
    assert "differ in their loss and in their advantages" in found(demo, LINT, two)[0].message
