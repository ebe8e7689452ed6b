import pytest

from analysis.plan.lints.optimizer_eps_default import SDK_DEFAULT_EPS

LINT = "optimizer_eps_default"


def test_the_sdk_still_has_this_default():
    types = pytest.importorskip("tinker.types")
    assert types.AdamParams().eps == SDK_DEFAULT_EPS


def test_finds_that_the_call_of_v2_runs_with_another_eps_than_planned(v2, found):
    (finding,) = found(v2, LINT)
    assert finding.path == "command"
    assert finding.severity == "warn"
    assert "1e-12, not the planned 1e-08" in finding.message


def test_finds_that_v1_plans_no_eps_at_all(v1, found):
    (finding,) = found(v1, LINT)
    assert "names no eps anywhere" in finding.message


def test_finds_a_reminder_where_the_field_differs_from_the_default(resolved_v2, found):
    (finding,) = found(resolved_v2, LINT)
    assert finding.severity == "note"
    assert finding.reads == "fields"


@pytest.mark.parametrize(
    "command",
    [
        "We step with tc.optim_step(AdamParams(\n  learning_rate=1e-4,\n  beta1=0.9))",
        "for x in y: opt = types.AdamParams(learning_rate=float(schedule(x)))",
        "tinker.AdamParams() with the default learning rate",
    ],
)
def test_finds_the_call_in_three_rewordings(v2, found, command):
    assert len(found(v2, LINT, {"command": command})) == 1


@pytest.mark.parametrize(
    "command",
    [
        "tc.optim_step(tinker.AdamParams(learning_rate=2e-5, eps=1e-8))",
        "tc.optim_step(tinker.AdamParams(learning_rate=2e-5, eps = EPS))",
        "Adam is stepped with the planned parameters (learning rate 2e-5).",
    ],
)
def test_silent_where_eps_is_passed_or_no_call_is_written(v2, found, command):
    assert found(v2, LINT, {"command": command}) == []


def test_silent_where_the_planned_value_is_the_default(resolved_v2, found):
    assert found(resolved_v2, LINT, {"optimizer.eps": 1e-12}) == []
