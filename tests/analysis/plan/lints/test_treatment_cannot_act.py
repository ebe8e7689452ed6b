def test_finds_that_one_update_leaves_both_losses_alike(resolved_v1, found):
    (finding,) = found(resolved_v1, "treatment_cannot_act")
    assert finding.path == "rollout.updates_per_batch"


def test_silent_with_two_updates(resolved_v2, resolved_v1, found):
    assert found(resolved_v2, "treatment_cannot_act") == []
    assert found(resolved_v1, "treatment_cannot_act", {"rollout.updates_per_batch": 2}) == []


def test_silent_where_the_arms_have_one_loss(resolved_v1, found):
    assert found(resolved_v1, "treatment_cannot_act", {"arms.1.loss": "grpo"}) == []


def test_silent_where_one_of_the_losses_is_of_pairs_or_has_a_kl_penalty_or_a_critic_beside_it(resolved_v1, found):
    pairs = {
        "kind": "preference", "form": "ratio", "beta": 0.1, "eps": None, "delta": None, "divergence": None,
        "anchor": "base", "truncation": None, "reduction": "token_sum",
    }  # fmt: skip
    name = resolved_v1["arms"][1]["loss"]
    assert found(resolved_v1, "treatment_cannot_act", {f"losses.{name}": pairs}) == []
    clip = {**resolved_v1["losses"]["grpo"], "kl_coefficient": 0.1}
    assert found(resolved_v1, "treatment_cannot_act", {f"losses.{name}": clip}) == []
    critic = {
        "critic": {"capacity": "small", "learning_rate": 1e-3, "epochs": 1}, "normalization": "z_score",
    }  # fmt: skip
    of_critic = {"advantages": {"ppo": critic}, "arms.1.advantage": "ppo"}
    assert found(resolved_v1, "treatment_cannot_act", of_critic) == []
