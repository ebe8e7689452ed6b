"""What was planned against what ran: the logs count before what run.json says of itself."""

import json

import pytest
from executed_run import batch, executed_by, outcomes, small_plan, write_executed
from made_run import change_json, evals, right, write_outcomes

from audits.derived.settings import canonical
from audits.engine.audit import run_audit
from audits.engine.stated import flatten
from audits.store.manifest import ArmRecord, Manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "executed_settings")


def differences(path):
    found = findings(path)
    return {
        (row["setting"], row["arm"]): (row["planned"], row["executed"])
        for row in (dict(zip(found.columns, values, strict=True)) for values in found.rows)
    }


def imported(path, planned, executed, settings=None, scores=None):
    """A run as an importer leaves it: no plan, and what its source says."""
    record = ArmRecord(arm="treatment", seed=42, role="treatment", name="t", settings=settings or {})
    manifest = Manifest(
        run_id="i", kind="imported", status="complete", arms=[record], started_at="2026-01-01T00:00:00+00:00",
        planned=planned, executed=executed,
    )  # fmt: skip
    writer = RunWriter.create(path, manifest, None)
    writer.write_scalars("treatment", 42, {"step": [0, 1], "name": ["reward"] * 2, "value": [0.1, 0.2]})
    if scores:
        writer.write_evals("treatment", 42, "final", scores)
    return path


@pytest.mark.parametrize("kind", ["pilot", "full"])
def test_a_run_that_did_as_planned_passes_and_says_what_only_run_json_states(tmp_path, kind):
    found = findings(write_executed(tmp_path / "run", kind=kind))
    assert (found.check.status, found.rows) == ("pass", ())
    first, second = found.check.notes
    assert "logged by nobody: 0" in first
    assert "rollout.temperature" in second
    assert "rollout.group_size" not in second


@pytest.mark.parametrize(
    ("changes", "setting", "executed"),
    [
        ({"learning_rate": 2e-5}, "optimizer.learning_rate", "2e-05"),
        ({"eps": 1e-12}, "optimizer.eps", "1e-12"),
        ({"base_model": "other-model"}, "base_model", "other-model"),
        ({"loss_id": "grpo"}, "arms.loss", "grpo"),
        ({"loss_config": json.dumps({"delta": 0.3})}, "losses.dppo.delta", "0.3"),
        ({"loss_config": "no JSON"}, "losses.dppo", "no JSON"),
        ({"loss_config": "{}"}, "losses.dppo", "{}"),
        ({"n_loss_tokens": 11}, "loss tokens", "66"),
    ],
)
def test_what_was_sent_is_compared_arm_by_arm(tmp_path, changes, setting, executed):
    path = write_executed(tmp_path / "run", **changes)
    assert findings(path).check.status == "fail"
    found = differences(path)
    assert found[setting, "dppo"][1] == executed
    assert {arm for _, arm in found} == {"dppo"}


def test_numbers_compare_as_numbers():
    assert canonical(2e-5) == canonical("0.00002") == canonical("2E-5")
    assert canonical(30) == canonical(30.0) == canonical("30")
    assert canonical([1.0, {"b": 2, "a": None}]) == canonical([1, {"a": None, "b": 2.0}])
    assert canonical(True) != canonical(1)
    assert canonical(None) != canonical("")
    assert canonical(float("nan")) == "nan"
    assert canonical("\ud800 lone") == "\\ud800 lone"
    assert flatten({"a": {"b": 1, "c": {}}, "d.e": 2}) == {"a.b": 1, "a.c": {}, "d.e": 2}
    assert flatten({"a.b": 1, "a": {"b": 2}}) == flatten({"a": {"b": 2}, "a.b": 1}) == {"a.b": 1}


def test_fewer_steps_than_planned_are_found_and_so_is_an_arm_that_never_ran(tmp_path):
    found = findings(write_executed(tmp_path / "short", steps=2))
    assert "2 other number of steps" in found.check.reason
    assert differences(tmp_path / "short")["rollout.rollout_batches", "grpo"] == ("3", "2")
    one_armed = write_executed(tmp_path / "one")
    RunWriter.reopen(one_armed).drop(lambda record: "arm=grpo" in record.path)
    assert differences(one_armed) == {
        ("arms", None): ('[["dppo", 0], ["grpo", 0]]', '[["dppo", 0]]'),
        ("rollout.rollout_batches", "grpo"): ("3", "0"),
    }


def test_group_size_groups_and_updates_are_counted_in_the_logs_whatever_run_json_says(tmp_path):
    found = differences(write_executed(tmp_path / "run", batch_of=lambda step: batch(step, groups=1, size=4)))
    assert found["rollout.group_size", "dppo"] == ("2", "4")
    assert found["rollout.groups_per_batch", "grpo"] == ("2", "1")
    ragged = differences(
        write_executed(tmp_path / "ragged", batch_of=lambda step: batch(step, size=3 if step == 1 else 2))
    )
    assert ragged["rollout.group_size", "dppo"] == ("2", "2 or 3")
    plan = small_plan(rollout__updates_per_batch=1)
    said = {"rollout": executed_by(small_plan())["rollout"]}
    assert differences(write_executed(tmp_path / "said", plan, executed=said)) == {}


def test_a_cap_shows_where_completions_were_cut_and_is_only_bounded_where_none_was(tmp_path):
    def cut(arm, n, **where):
        return outcomes(arm, n, **where) | {"n_tokens": [5] * n, "stop_reason": ["length"] * n}

    def long(arm, n, **where):
        return outcomes(arm, n, **where) | {"n_tokens": [9] * n}

    assert differences(write_executed(tmp_path / "cut", outcomes_of=cut))["evaluation.max_tokens", "dppo"] == ("8", "5")
    assert differences(write_executed(tmp_path / "long", outcomes_of=long))["evaluation.max_tokens", "grpo"] == (
        "8",
        "9",
    )


def test_items_samples_and_split_of_the_evaluation_are_counted(tmp_path):
    def fewer(arm, n, **where):
        return outcomes(arm, n - 1, **where)

    def validation(arm, n, *, split, checkpoint):
        return outcomes(arm, 10, split="validation", checkpoint=checkpoint)

    assert differences(write_executed(tmp_path / "fewer", outcomes_of=fewer))["task.test_items", "grpo"] == ("20", "19")
    found = differences(write_executed(tmp_path / "split", outcomes_of=validation))
    assert found["evaluation.split", "dppo"] == ("test", "validation")
    assert found["task.test_items", "dppo"] == ("20", "10")
    plan = small_plan(evaluation__samples_per_item=2)
    assert differences(write_executed(tmp_path / "samples", plan))["evaluation.samples_per_item", "base"] == ("2", "1")


def test_what_nobody_logged_is_inconclusive_and_a_default_nobody_wrote_is_not_asked_for(tmp_path):
    path = write_executed(tmp_path / "run")
    executed = executed_by(small_plan())
    del executed["rollout"]["temperature"], executed["task"]["order"]
    change_json(path / "run.json", executed=executed)
    found = findings(path)
    assert found.check.status == "inconclusive"
    assert [row[found.columns.index("setting")] for row in found.rows] == ["rollout.temperature"]
    change_json(path / "run.json", executed__rollout__temperature=0.7)
    assert differences(path) == {("rollout.temperature", None): ("1", "0.7")}
    change_json(path / "run.json", executed__rollout__temperature=1, executed__task__order="as_given")
    assert differences(path) == {("task.order", None): ("shuffled_by_seed", "as_given")}


def test_a_run_mended_by_hand_passes(tmp_path):
    path = write_executed(tmp_path / "run", executed={"lora_rank": 8, "arms": []})
    assert findings(path).check.status == "fail"
    change_json(path / "run.json", executed__lora_rank=32)
    assert findings(path).check.status == "pass"


def test_an_imported_run_is_held_to_what_its_source_says_was_planned(tmp_path):
    path = imported(tmp_path / "run", {"rollout.rollout_batches": 30}, {"rollout.rollout_batches": 20})
    assert findings(path).check.status == "fail"
    assert differences(path) == {("rollout.rollout_batches", None): ("30", "20")}
    done = imported(tmp_path / "done", {"rollout.rollout_batches": 30}, {"rollout": {"rollout_batches": 30}})
    assert findings(done).check.status == "pass"
    silent = imported(tmp_path / "silent", {"rollout.rollout_batches": 30}, {})
    assert findings(silent).check.status == "inconclusive"


def test_the_logs_and_an_arms_own_settings_count_before_the_sources_summary(tmp_path):
    planned = {"evaluation.samples_per_item": 4, "evaluation.max_tokens": 2048}
    path = imported(
        tmp_path / "run", planned, dict(planned), {"evaluation": {"max_tokens": 512}}, evals(right(3), n_tokens=5)
    )
    assert differences(path) == {
        ("evaluation.max_tokens", "treatment"): ("2048", "512"),
        ("evaluation.samples_per_item", "treatment"): ("4", "1"),
    }


def test_outcomes_without_any_plan_are_not_judged(tmp_path):
    found = findings(write_outcomes(tmp_path / "run", {"treatment": [evals(right(3))]}))
    assert found.check.status == "not_applicable"
    assert "nothing was planned" in found.check.reason
