import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.store.reader import connect

DATA = Path(__file__).parents[2] / "data" / "trl"


@pytest.fixture
def log(tmp_path):
    """A copy of what TRL wrote: two reward functions, prompts as text."""
    return Path(shutil.copytree(DATA / "text", tmp_path / "log"))


def completions(log, step):
    return log / "completions" / f"completions_{step:05d}.parquet"


def rewrite(path, change):
    change(pl.read_parquet(path)).write_parquet(path)


def rewrite_state(log, change):
    state = json.loads((log / "trainer_state.json").read_text())
    change(state)
    (log / "trainer_state.json").write_text(json.dumps(state))


def status(importing, audit_id):
    with connect(importing.run) as connection:
        return run_audit(connection, importing.run, audit_id).check.status


@pytest.mark.formats
@pytest.mark.slow
@pytest.mark.parametrize(("iterations", "batches"), [(1, [1, 2, 3]), (2, [1, 3])])
def test_what_trl_writes_is_imported_and_a_shared_batch_once(iterations, batches, importing, tmp_path):
    pytest.importorskip("trl", reason="trl is not installed")
    module = loaded_module(DATA / "write.py")
    module.train(tmp_path / "log", num_iterations=iterations)
    importing(tmp_path / "log")
    assert importing.sql("SELECT step, count(*) FROM rollouts GROUP BY step ORDER BY step") == [
        (step, 4) for step in batches
    ]
    ((logged,),) = importing.sql("SELECT value FROM scalars WHERE name = 'reward' AND step = 1")
    assert importing.sql("SELECT avg(reward) FROM rollouts WHERE step = 1")[0][0] == pytest.approx(logged)


def test_an_output_directory_gives_rollouts_and_figures(importing, log):
    told = importing(log)
    assert importing.sql(
        "SELECT step, list(group_id ORDER BY rollout_id) FROM rollouts GROUP BY step ORDER BY step"
    ) == [(step, [0, 0, 1, 1]) for step in (1, 2, 3)]
    assert "the reward is digit_reward + length_reward, whose mean is the reward that the trainer logged" in told
    first = importing.sql("SELECT reward, advantage, completion FROM rollouts WHERE step = 1 ORDER BY rollout_id")[3]
    assert first[:2] == pytest.approx((0.0728571, 0.7064074), abs=1e-6)
    assert importing.sql("SELECT count(n_tokens), count(gold), count(stop_reason) FROM rollouts") == [(0, 0, 0)]
    assert importing.sql("SELECT count(DISTINCT step) FROM scalars WHERE name = 'entropy'") == [(3,)]
    assert "logged again" not in told  # the summary of the training repeats the last step's epoch
    assert "solution of the completions" in told
    assert status(importing, "group_advantages") == "warn"  # divided by the standard deviation
    assert status(importing, "truncation") == "inconclusive"


def test_conversations_and_a_column_of_right_answers(importing):
    importing(DATA / "conversation", mapping=[("gold", "solution")])
    assert importing.sql("SELECT question, gold FROM prompts ORDER BY question") == [
        ("What is 1+1?", "2"), ("What is 2+3?", "5"), ("What is 4+4?", "8"), ("What is 9-3?", "6")
    ]  # fmt: skip
    assert importing.sql("SELECT count(*) FROM rollouts JOIN prompts USING (prompt_id)") == [(12,)]


def test_weights_that_no_file_states_are_not_guessed(importing, log, tmp_path):
    with pytest.raises(AuditError, match="the source does not say with which weights"):
        importing(log / "completions")
    rewrite_state(log, lambda state: [row.update(reward=row.get("reward", 0) * 2) for row in state["log_history"]])
    with pytest.raises(AuditError, match=r"--map reward=digit_reward\+length_reward"):
        importing(log)
    importing(log, mapping=[("reward", "digit_reward")])
    assert importing.sql("SELECT max(reward) > 0, min(reward) FROM rollouts") == [(True, 0.0)]
    with pytest.raises(AuditError, match=r"no column zeal \(columns: digit_reward, length_reward, solution\)"):
        importing(log, mapping=[("reward", "zeal")], dry_run=True)


def test_a_step_that_was_evaluated_is_left_out_and_told(importing, log):
    rewrite_state(log, lambda state: state["log_history"].append({"step": 2, "eval_reward": 0.5}))
    assert "completions of steps 2: the trainer evaluated there" in importing(log)
    assert importing.sql("SELECT DISTINCT step FROM rollouts ORDER BY step") == [(1,), (3,)]


def test_a_function_that_gave_no_reward_counts_as_none_and_a_row_without_any_is_told(importing, log):
    def change(frame):
        digit = [None, None, *frame["digit_reward"].to_list()[2:]]
        length = [None, *frame["length_reward"].to_list()[1:]]
        return frame.with_columns(digit_reward=pl.Series(digit), length_reward=pl.Series(length))

    rewrite(completions(log, 1), change)
    told = importing(log, mapping=[("reward", "digit_reward+length_reward")])
    assert "1 completion that no reward function scored" in told
    rows = importing.sql("SELECT rollout_id, group_id, reward FROM rollouts WHERE step = 1 ORDER BY rollout_id")
    assert [row[:2] for row in rows] == [(1, 0), (2, 1), (3, 1)]
    assert rows[0][2] == pytest.approx(-0.05)


def test_the_state_of_the_last_checkpoint_serves_where_none_was_saved_at_the_end(importing, log):
    for step in (2, 10):
        (log / f"checkpoint-{step}").mkdir()
        shutil.copy(log / "trainer_state.json", log / f"checkpoint-{step}")
    (log / "trainer_state.json").unlink()
    importing(log)
    names = [file["name"] for file in importing.manifest.source["files"]]
    assert "checkpoint-10/trainer_state.json" in names
    assert "checkpoint-2/trainer_state.json" not in names


def test_a_training_that_stopped_early_is_told(importing, log):
    rewrite_state(log, lambda state: state.update(max_steps=100))
    assert "the trainer stopped after 3 of 100 steps" in importing(log)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.with_columns(step=pl.lit(7)), "row 1: step is 7, and 1"),
        (lambda frame: frame.drop("advantage"), "has no column advantage"),
        (lambda frame: frame.head(0), "has no row"),
        (lambda frame: frame.with_columns(advantage=pl.lit(None, pl.Float64)), "row 1: advantage is None"),
        (lambda frame: frame.with_columns(completion=pl.lit(3)), "row 1: a text or messages with text"),
        (
            lambda frame: frame.with_columns(completion=pl.Series([[{"role": "a", "content": "b"}] * 2] * 4)),
            "row 1: a completion of 2 messages",
        ),
    ],
)
def test_completions_that_are_none_are_refused_with_their_place(importing, log, change, said):
    rewrite(completions(log, 1), change)
    with pytest.raises(AuditError, match=said):
        importing(log, mapping=[("reward", "digit_reward")])


def test_what_is_no_parquet_file_is_refused(importing, log):
    content = completions(log, 2).read_bytes()
    for broken in (b"", content[: len(content) // 2], b"PAR1"):
        completions(log, 2).write_bytes(broken)
        with pytest.raises(AuditError, match=r"completions_00002\.parquet"):
            importing(log)
