LINT = "gate_contradicts_plan"


def test_finds_a_check_that_excludes_the_planned_updates(demo, found):
    (finding,) = found(demo, LINT, {"rollout.updates_per_batch": 4})
    assert "the plan executes 4" in finding.message


def test_finds_a_check_that_excludes_the_planned_model(demo, found):
    (finding,) = found(demo, LINT, {"base_model": "other"})
    assert finding.path == "activation_gate.checks[4].one_of"


def test_silent_where_gate_and_plan_agree(demo, resolved_v2, found):
    assert found(demo, LINT) == []
    assert found(resolved_v2, LINT) == []
    assert found(demo, LINT, {"rollout.updates_per_batch": 4, "activation_gate.checks.3.max": 4}) == []
