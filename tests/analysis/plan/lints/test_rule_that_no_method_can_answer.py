import pytest

LINT = "rule_that_no_method_can_answer"


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"decision_rule.method": "paired_hoefding"}, "decision_rule.method", 'did you mean "paired_hoeffding"'),
        ({"decision_rule.method": "seed_level_t"}, "decision_rule.method", "training_seeds"),
        ({"decision_rule.method": "paired_betting"}, "decision_rule.resampling_seed", "registered seed"),
        ({"decision_rule.criteria.0.metric": "bleu"}, "decision_rule.criteria[0].metric", "no number for 'bleu'"),
        (
            {"decision_rule.method": "paired_tango", "decision_rule.criteria.0.bounds": [0, 2]},
            "decision_rule.criteria[0].bounds",
            "right/wrong",
        ),
    ],
)
def test_finds_a_rule_without_an_answer(demo, found, changes, path, said):
    (finding,) = found(demo, LINT, changes)
    assert (finding.path, finding.severity) == (path, "error")
    assert said in finding.message


def test_finds_a_seed_that_is_trained_and_left_out(demo, found):
    second = [{**arm, "name": f"{arm['condition']}_seed1", "seed": 1} for arm in demo["arms"]]
    (finding,) = found(demo, LINT, {"arms": [*demo["arms"], *second]})
    assert finding.path == "decision_rule.seeds"
    assert found(demo, LINT, {"arms": [*demo["arms"], *second], "decision_rule.seeds": [0, 1]}) == []


def test_silent_on_the_shipped_plans(demo, resolved_v1, resolved_v2, found):
    assert [found(plan, LINT) for plan in (demo, resolved_v1, resolved_v2)] == [[], [], []]
