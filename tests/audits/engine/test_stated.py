"""What ran stands before what was planned."""

from made_run import change_json, evals, right, write_outcomes, write_run

from audits.engine.stated import stated_setting
from audits.store.reader import open_run

PATH = "evaluation.max_tokens"


def stated(path, **changes):
    change_json(path / "run.json", **changes)
    run = open_run(path)
    return stated_setting(run, PATH, run.manifest.arms[0])


def test_the_arm_s_own_settings_come_first_then_what_was_executed_then_the_plan(tmp_path):
    path = write_run(tmp_path / "run", tokens_of=None)
    assert stated(path) == 8
    assert stated(path, planned={PATH: 1}) == 8
    assert stated(path, executed={"evaluation": {"max_tokens": 9}}) == 9
    assert stated(path, executed={PATH: 10, "evaluation": {"max_tokens": 9}}) == 10
    arms = [arm.model_dump() for arm in open_run(path).manifest.arms]
    for settings in ({"evaluation": {"max_tokens": 11}}, {PATH: 11}):
        assert stated(path, arms=[{**arm, "settings": settings} for arm in arms]) == 11


def test_without_a_plan_it_is_what_the_source_says_was_planned_or_nothing(tmp_path):
    path = write_outcomes(tmp_path / "run", {"treatment": [evals(right(3))]})
    assert stated(path) is None
    assert stated(path, executed={"evaluation": "greedy"}) is None
    assert stated(path, planned={PATH: 12}) == 12
