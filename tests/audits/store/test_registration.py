"""Several runs under one query: apart in every table and view, and each row says whose it is."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from made_run import active_tokens, evals, rewrite, right, write_experiment, write_outcomes, write_run

from analysis.errors import AuditError
from audits.store.reader import open_run
from audits.store.registration import run_names
from audits.store.sandbox import open_sandbox


def ask(runs, sql):
    with open_sandbox([open_run(path) for path in runs]) as sandbox, sandbox.select(sql) as answer:
        return answer.fetchall()


def test_a_run_is_called_as_its_directory_and_as_its_path_where_two_share_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_names([Path("runs/a"), Path("runs/b/")]) == ("a", "b")
    assert run_names([Path("one/full"), Path("two/full"), Path("two/pilot")]) == ("one/full", "two/full", "pilot")
    assert run_names([Path(".")]) == (tmp_path.name,)


@pytest.mark.parametrize("again", ["a", "./a", "b/../a", "link"])
def test_a_run_that_is_named_twice_would_count_twice(tmp_path, monkeypatch, again):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
    Path("link").symlink_to("a")
    with pytest.raises(AuditError, match="named twice"):
        run_names([Path("a"), Path("b"), Path(again)])


def calm_tokens(arm, seed, step):
    columns = active_tokens(arm, seed, step)
    return columns | {"current_logprob": columns["sampler_logprob"]}


def test_no_table_and_no_view_mixes_two_runs(tmp_path):
    """Each relation over both runs holds exactly the rows that each run gives alone."""
    active = write_experiment(tmp_path / "active")
    calm = write_run(tmp_path / "calm", kind="full", tokens_of=calm_tokens, scores={"grpo": right(1), "dppo": right(2)})
    with open_sandbox([open_run(active)]) as sandbox:
        names = sandbox.names
    assert {"tokens", "evals", "loss_tokens", "update_drift", "final_item_scores"} <= set(names)
    for name in names:
        sql = f"SELECT * FROM {name}"
        alone = Counter(map(repr, ask([active], sql) + ask([calm], sql)))
        assert Counter(map(repr, ask([active, calm], sql))) == alone, name
    drift = "SELECT run, max(abs_p_q99) > 0 FROM update_drift GROUP BY run ORDER BY run"
    assert ask([active, calm], drift) == [("calm", False), ("full", True)]


def test_a_run_that_lacks_a_column_has_nulls_there_and_one_that_lacks_a_table_has_no_rows(tmp_path):
    one = write_outcomes(tmp_path / "one", {"baseline": [evals(right(1, 2), completion="text")]})
    two = write_outcomes(tmp_path / "two", {"baseline": [evals(right(2, 2))]})
    three = write_run(tmp_path / "three")
    rewrite(
        two, "evals/arm=baseline/seed=0/checkpoint=final.parquet", lambda t: t.append_column("own", pa.array([7, 8]))
    )
    rows = ask([one, two, three], "SELECT run, completion, own FROM evals ORDER BY ALL")
    assert rows == [("one", "text", None), ("one", "text", None), ("two", None, 7), ("two", None, 8)]
    assert ask([one, two, three], "SELECT DISTINCT run FROM tokens") == [("three",)]


def test_types_of_another_width_are_widened_and_types_that_do_not_go_together_are_named(tmp_path):
    runs = [write_outcomes(tmp_path / name, {"baseline": [evals(right(1, 2))]}) for name in ("one", "two")]
    file = "evals/arm=baseline/seed=0/checkpoint=final.parquet"
    rewrite(runs[0], file, lambda table: table.set_column(3, "score", table["score"].cast(pa.float32())))
    assert ask(runs, "SELECT run, sum(score) FROM evals GROUP BY run ORDER BY run") == [("one", 1.0), ("two", 1.0)]
    rewrite(runs[0], file, lambda table: table.append_column("own", pa.array([[1], [2]])))
    rewrite(runs[1], file, lambda table: table.append_column("own", pa.array([{"a": 1}, {"a": 2}])))
    assert ask(runs, "SELECT run, sum(score) FROM evals GROUP BY run ORDER BY run") == [("one", 1.0), ("two", 1.0)]
    with pytest.raises(AuditError, match=r"cast .*own"):
        ask(runs, "SELECT own FROM evals")


def test_a_column_of_a_file_that_is_called_run_stays_readable(tmp_path):
    run = write_outcomes(tmp_path / "mine", {"baseline": [evals(right(1, 2))]})
    file = "evals/arm=baseline/seed=0/checkpoint=final.parquet"
    rewrite(run, file, lambda table: table.append_column("Run", pa.array(["x", "y"])))
    assert ask([run], "SELECT run, logged_run FROM evals ORDER BY ALL") == [("mine", "x"), ("mine", "y")]


@pytest.mark.parametrize("name", ["run[1]", "it's", 'a "b"', "a b", "lr=0.1", "ünï", "*", "a;b", "$x"])
def test_a_directory_may_be_called_anything(tmp_path, name):
    runs = [write_outcomes(tmp_path / path, {"baseline": [evals(right(1, 2))]}) for path in (name, "other")]
    assert ask(runs, "SELECT run, count(*) FROM evals GROUP BY run ORDER BY run = 'other'") == [(name, 2), ("other", 2)]
    assert ask([runs[0]], "SELECT DISTINCT run, arm, seed FROM final_item_scores") == [(name, "baseline", 0)]


def test_a_run_without_any_log_can_be_asked_beside_others(tmp_path):
    empty = write_run(tmp_path / "empty", tokens_of=None)
    filled = write_run(tmp_path / "filled")
    assert ask([empty, filled], "SELECT DISTINCT run FROM tokens") == [("filled",)]
    with pytest.raises(AuditError, match="logged: nothing"):
        ask([empty], "SELECT * FROM tokens")


def test_what_only_some_runs_logged_is_said(tmp_path):
    runs = [open_run(write_run(tmp_path / "pilot")), open_run(write_experiment(tmp_path / "x"))]
    with open_sandbox(runs) as sandbox:
        assert sandbox.missing("SELECT * FROM evals") == ("evals has no rows of pilot: never logged there",)
        assert sandbox.missing('SELECT step FROM "TOKENS"') == ()
