import json
import shutil
from pathlib import Path

import pytest

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.engine.timing import phase_times
from audits.store.reader import connect

LOG = Path(__file__).parents[2] / "data" / "tinker_cookbook"
RUN = Path(__file__).parents[2] / "data" / "tinker_cookbook_run"
ARITHMETIC = Path(__file__).parents[2] / "data" / "tinker-rl-lab" / "arithmetic_metrics.jsonl"
SUMMARIES = "iteration_000001/train_rollout_summaries.jsonl"


@pytest.fixture
def log(tmp_path):
    """A copy of the log directory that the cookbook's own writers made."""
    return Path(shutil.copytree(LOG, tmp_path / "log"))


def rewrite(path, change):
    """Change the records of a JSON-lines file in place."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def status(importing, audit_id):
    with connect(importing.run) as connection:
        return run_audit(connection, importing.run, audit_id).check.status


@pytest.mark.slow
def test_the_log_directory_is_what_the_cookbook_writes(tmp_path):
    pytest.importorskip("tinker_cookbook", reason="tinker-cookbook is not installed")
    from cookbook_log import write_log

    write_log(tmp_path / "log")
    written = {path.relative_to(tmp_path / "log"): path.read_bytes() for path in (tmp_path / "log").rglob("*.json*")}
    assert written == {path.relative_to(LOG): path.read_bytes() for path in LOG.rglob("*.json*")}


def test_the_last_row_of_a_repeated_step_is_taken_and_what_has_no_step_is_told(importing, log):
    told = importing(log)
    assert importing.sql("SELECT step, value FROM scalars WHERE name = 'env/all/correct' ORDER BY step") == [
        (0, 0.5), (1, 1 / 3)
    ]  # fmt: skip
    assert "1 step logged more than once (a resumed run; 1)" in told
    assert "1 row of metrics.jsonl without a step" in told
    assert importing.sql("SELECT count(*) FROM scalars WHERE name = 'tokens/total'") == [(0,)]


def test_what_was_planned_is_the_config_and_what_was_executed_the_log(importing, log):
    importing(log)
    planned = importing.manifest.planned
    assert planned == {
        "base_model": "base", "lora_rank": 32, "optimizer.learning_rate": 1e-4, "rollout.updates_per_batch": 1,
        "rollout.temperature": 1.0, "rollout.max_tokens": 5, "rollout.groups_per_batch": 2, "rollout.group_size": 3,
        "rollout.renderer": "llama3", "rollout.rollout_batches": 4,
    }  # fmt: skip
    assert importing.manifest.executed == {"rollout.rollout_batches": 2, "optimizer.learning_rate": 1e-4}
    assert importing.manifest.arms[0].settings["loss_fn"] == "importance_sampling"
    assert importing.manifest.source["checkpoints"] == ["000001"]
    assert status(importing, "executed_settings") == "fail"  # 2 of 4 batches


def test_a_rate_that_changes_is_no_executed_setting(importing, log):
    rewrite(log / "metrics.jsonl", lambda rows: rows[0].update({"optim/lr": 3e-4}))
    importing(log)
    assert "optimizer.learning_rate" not in importing.manifest.executed


def test_rollouts_carry_rewards_and_lengths_and_nothing_that_the_summary_lacks(importing, log):
    importing(log)
    rows = importing.sql(
        "SELECT step, group_id, reward, n_tokens, sampler_version FROM rollouts ORDER BY step, rollout_id"
    )
    assert rows[:4] == [(0, 0, 1.0, 1, "0"), (0, 0, 0.0, 2, "0"), (0, 0, -0.1, 3, "0"), (0, 1, 1.0, 1, "0")]
    assert len(rows) == 12
    absent = "SELECT count(prompt_id), count(advantage), count(stop_reason), count(completion) FROM rollouts"
    assert importing.sql(absent) == [(0, 0, 0, 0)]
    assert status(importing, "group_advantages") == "inconclusive"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.append(rows[0]), "line 7: group 0, trajectory 0 stands twice"),
        (lambda rows: rows[1].update(iteration=0), 'line 2: "iteration" is 0'),
        (lambda rows: rows[1].update(schema_version=2), "schema_version"),
        (lambda rows: rows[2]["steps"].append(rows[2]["steps"][0]), "line 3: an episode of 2 turns"),
        (lambda rows: rows[2].update(total_reward=None), 'line 3: "total_reward" is None'),
    ],
)
def test_a_summary_that_is_none_names_its_line(importing, log, change, said):
    rewrite(log / SUMMARIES, change)
    with pytest.raises(AuditError, match=said):
        importing(log)


@pytest.mark.parametrize("step", [-1, 0.5, True, "1", 2**31])
def test_a_step_that_is_none_names_its_line(importing, log, step):
    rewrite(log / "metrics.jsonl", lambda rows: rows[1].update(step=step))
    with pytest.raises(AuditError, match='line 2: "step" is'):
        importing(log)


def test_figures_that_are_not_finite_are_kept_and_texts_are_told(importing, log):
    rewrite(log / "metrics.jsonl", lambda rows: rows[0].update({"loss": float("nan"), "note": "x", "flag": True}))
    told = importing(log)
    assert "keys flag, note of metrics.jsonl: no numbers" in told
    assert importing.sql("SELECT isfinite(value) FROM scalars WHERE name = 'loss'") == [(False,)]


def test_steps_that_are_absent_are_told(importing, log):
    rewrite(log / "metrics.jsonl", lambda rows: [row.update(step=row["step"] + 5) for row in rows[:3]])
    assert "steps up to 6 were logged, and 5 are absent" in importing(log)


def test_metrics_alone_are_enough(importing):
    importing(ARITHMETIC)
    assert importing.sql("SELECT count(DISTINCT step), count(DISTINCT name) FROM scalars") == [(6, 25)]
    assert importing.manifest.planned == {"rollout.rollout_batches": 100}


def test_two_logs_with_other_settings_are_two_arms(importing, log, tmp_path):
    other = Path(shutil.copytree(log, tmp_path / "other"))
    config = json.loads((other / "config.json").read_text()) | {"loss_fn": "ppo", "learning_rate": 3e-4}
    (other / "config.json").write_text(json.dumps(config))
    rewrite(other / "metrics.jsonl", lambda rows: [row.update({"optim/lr": 3e-4}) for row in rows[:3]])
    importing(arms=[("baseline", str(log)), ("treatment", str(other))])
    settings = {arm.arm: (arm.settings["loss_fn"], arm.settings["optimizer.learning_rate"])
                for arm in importing.manifest.arms}  # fmt: skip
    assert settings == {"baseline": ("importance_sampling", 1e-4), "treatment": ("ppo", 3e-4)}
    assert "optimizer.learning_rate" not in importing.manifest.planned
    assert importing.manifest.planned["rollout.rollout_batches"] == 4
    names = {file["name"] for file in importing.manifest.source["files"]}
    assert {"log/metrics.jsonl", "other/metrics.jsonl"} <= names


def test_two_logs_of_which_one_did_not_do_its_own_plan_are_imported_alone(importing, log, tmp_path):
    other = Path(shutil.copytree(log, tmp_path / "other"))
    config = json.loads((other / "config.json").read_text()) | {"learning_rate": 3e-4}
    (other / "config.json").write_text(json.dumps(config))  # planned 3e-4, and 1e-4 was executed
    with pytest.raises(AuditError, match=r"plan different values of optimizer\.learning_rate"):
        importing(arms=[("baseline", str(log)), ("treatment", str(other))])


def test_a_directory_without_metrics_is_no_log(importing, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(AuditError, match="no importer recognises it"):
        importing(tmp_path / "empty")


@pytest.fixture
def run(tmp_path):
    """A copy of the log of the cookbook's own training loop."""
    return Path(shutil.copytree(RUN, tmp_path / "run", ignore=shutil.ignore_patterns("*.md")))


def test_the_trace_says_how_many_updates_a_batch_had(importing, run):
    importing(run)
    assert importing.manifest.planned["rollout.updates_per_batch"] == 2
    assert importing.manifest.executed["rollout.updates_per_batch"] == 2
    importing.out = run.parent / "one"
    # One update has no count of them.
    rewrite(run / "metrics.jsonl", lambda rows: [row.pop("time/optim_step_async:count") for row in rows[:2]])
    rewrite(run / "metrics.jsonl", lambda rows: [row.update({"time/optim_step_async": 0.1}) for row in rows[:2]])
    importing(run)
    assert importing.manifest.executed["rollout.updates_per_batch"] == 1
    assert status(importing, "executed_settings") == "fail"


def test_the_outermost_spans_are_phases_without_a_start(importing, run):
    told = importing(run)
    assert importing.sql("SELECT step, phase, count(started_at) FROM phases GROUP BY ALL ORDER BY ALL") == [
        (step, phase, 0) for step in (0, 1) for phase in ("checkpoint", "eval", "sample", "train")
    ]
    whole = dict(importing.sql("SELECT step, value FROM scalars WHERE name = 'time/total'"))
    for step, seconds in importing.sql("SELECT step, sum(seconds) FROM phases GROUP BY step"):
        assert 0 < seconds <= whole[step]
    assert "left out: spans assemble_training_data, compute_full_batch" in told
    assert phase_times(importing.run) == ()


def test_spans_of_a_step_that_was_run_again_are_the_last(importing, run):
    again = {"step": 1, "spans": [{"name": "sampling", "duration": 7.0, "wall_start": 0.0, "wall_end": 7.0}]}
    rewrite(run / "timing_spans.jsonl", lambda rows: rows.append(again))
    importing(run)
    assert importing.sql("SELECT phase, seconds FROM phases WHERE step = 1") == [("sample", 7.0)]


def test_captured_requests_say_what_was_sent(importing, run):
    told = importing(run)
    sent = importing.manifest.executed
    assert (sent["rollout.temperature"], sent["rollout.max_tokens"]) == (1.0, 6)
    assert (sent["optimizer.beta2"], sent["optimizer.eps"], sent["optimizer.grad_clip_norm"]) == (0.95, 1e-8, 0.0)
    assert "captured requests: samples: 6, optimiser steps: 4" in told
    assert "captured optimiser steps state no iteration" in told


def test_captured_settings_that_changed_are_no_executed_setting(importing, run):
    rewrite(run / "capture" / "sample.jsonl", lambda rows: rows[0]["sampling_params"].update(temperature=0.0))
    assert "rollout.temperature was sent with several values (0.0, 1.0)" in importing(run)
    assert "rollout.temperature" not in importing.manifest.executed


def test_captured_optimiser_steps_with_an_iteration_are_counted_by_batch(importing, run):
    def numbered(rows):
        for number, row in enumerate(row for row in rows if row["op"] == "optim_step"):
            row["scope"]["iteration"] = number // 2

    rewrite(run / "capture" / "train_op.jsonl", numbered)
    rewrite(run / "metrics.jsonl", lambda rows: [row.pop("time/optim_step_async:count") for row in rows[:2]])
    importing(run)
    assert importing.manifest.executed["rollout.updates_per_batch"] == 2


def test_an_evaluation_that_names_no_item_is_left_out_with_the_reason(importing, run):
    told = importing(run)
    assert "iteration_000000/eval_test_rollout_summaries.jsonl: no item is named" in told
    assert importing.sql("SELECT count(*) FROM evals") == [(0,)]


def test_an_evaluation_that_names_its_items_gives_outcomes_by_checkpoint(importing, run):
    for path in run.glob("iteration_*/eval_*"):
        rewrite(path, lambda rows: [row["steps"][0]["logs"].update(example_id=f"q{row['group_idx']}") for row in rows])
    importing(run)
    checkpoints = "SELECT checkpoint, count(*), max(sample), max(score) FROM evals GROUP BY ALL ORDER BY ALL"
    assert importing.sql(checkpoints) == [("step000000", 12, 1, 0.0), ("step000001", 12, 1, 0.0)]


def test_trees_of_conversations_are_left_out_with_the_reason(importing, run):
    (run / "iteration_000000" / "train_logtree.json").write_text("{}")
    assert "train_logtree.json: their conversations stand in the order" in importing(run)
