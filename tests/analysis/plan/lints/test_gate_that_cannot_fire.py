import pytest

LINT = "gate_that_cannot_fire"


def test_finds_a_check_on_an_update_that_is_never_executed(demo, found):
    paths = [finding.path for finding in found(demo, LINT, {"rollout.updates_per_batch": 1})]
    assert paths == [f"activation_gate.checks[{index}].update" for index in (0, 1, 2)]


def test_finds_the_first_update_that_is_one_too_many(demo, found):
    (finding,) = found(demo, LINT, {"activation_gate.checks.3.update": 2})
    assert "checked on update 2, but the plan executes only 0 to 1" in finding.message


def test_finds_a_drift_check_on_the_first_update(demo, found):
    (finding,) = found(demo, LINT, {"activation_gate.checks.1.update": 0})
    assert "has not moved yet" in finding.message


def test_finds_a_drift_check_with_the_default_update_when_there_is_only_one(demo, found):
    changes = {f"activation_gate.checks.{index}.update": None for index in (0, 1, 2)}
    assert len(found(demo, LINT, {**changes, "rollout.updates_per_batch": 1})) == 3
    assert found(demo, LINT, changes) == []


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, None), (None, 1.0), (-1.0, 2.0)])
def test_finds_limits_that_admit_every_share(demo, found, limits):
    changes = {"activation_gate.checks.0.min": limits[0], "activation_gate.checks.0.max": limits[1]}
    (finding,) = found(demo, LINT, changes)
    assert "admit all of it" in finding.message


def test_finds_limits_in_percent_that_admit_nothing(demo, found):
    changes = {"activation_gate.checks.0.min": 10.0, "activation_gate.checks.0.max": 30.0}
    (finding,) = found(demo, LINT, changes)
    assert "admit none of it" in finding.message


def test_finds_a_pilot_longer_than_the_run(demo, found):
    (finding,) = found(demo, LINT, {"activation_gate.pilot_steps": 31})
    assert finding.severity == "warn"


def test_silent_on_the_shipped_gates_and_on_a_gate_that_does_not_apply(demo, resolved_v2, resolved_v1, found):
    for document in (demo, resolved_v2, resolved_v1):
        assert found(document, LINT) == []
    off = {"activation_gate.applicable": False, "rollout.updates_per_batch": 1}
    assert found(demo, LINT, off) == []
