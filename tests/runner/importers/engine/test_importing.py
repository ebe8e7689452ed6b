"""The protocol, whatever the source: which importer, which role, what is refused before a run is made."""

import pickle
import re
import shlex

import pytest

from analysis.errors import AuditError

TABLE = "item_id,a,b\nq1,1,0\nq2,0,1\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "x.csv").write_text(TABLE)
    return tmp_path / "x.csv"


@pytest.mark.parametrize("name", ["model.pt", "x.pkl", "rollouts.jsonl"])
@pytest.mark.parametrize("words", [[], ["tinker-cookbook"], ["outcomes"]])
def test_a_pickle_is_refused_and_never_opened_as_one(importing, tmp_path, name, words):
    (tmp_path / name).write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(AuditError, match="a pickle is refused, because reading one runs"):
        importing(*words, tmp_path / name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a source"),
        (["outcomes"], "outcomes is an importer: name what it reads"),
        (["tinker-cookbok", "x"], 'no importer "tinker-cookbok"; did you mean "tinker_cookbook"'),
        (["nothing.here"], "no such file or directory .importers: gsm8k_solutions"),
        (["outcomes", "a", "b"], "one source is imported at a time"),
    ],
)
def test_words_that_name_no_source_are_answered(importing, words, said):
    with pytest.raises(AuditError, match=said):
        importing(*words)


def test_a_path_that_two_importers_recognise_is_left_to_the_person(importing, table, monkeypatch):
    monkeypatch.setattr("runner.importers.gsm8k_solutions.sniff", lambda _: True)
    with pytest.raises(AuditError, match="gsm8k_solutions and outcomes recognise it"):
        importing(table)


def test_an_item_column_is_only_for_what_has_columns(importing, tmp_path):
    (tmp_path / "m.jsonl").write_text('{"step": 0, "optim/lr": 0.1}\n')
    with pytest.raises(AuditError, match="--item"):
        importing(tmp_path / "m.jsonl", item="id")


def test_what_was_left_out_is_told_and_kept_in_the_manifest(importing, tmp_path):
    (tmp_path / "y.csv").write_text("item_id,a,b,note\nq1,1,0,x\n")
    told = importing(tmp_path / "y.csv", arms=[("baseline", "a"), ("treatment", "b")])
    assert "left out: columns note" in told
    (line,) = importing.manifest.source["ignored"]
    assert line.startswith("columns note: ")


def test_a_failure_while_writing_leaves_nothing_behind(importing, table, monkeypatch):
    def fails(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr("audits.store.writer.RunWriter.write_evals", fails)
    with pytest.raises(OSError, match="no space left"):
        importing(table, arms=[("baseline", "a")])
    assert not importing.out.exists()


def test_a_used_directory_is_refused_before_anything_is_read(importing):
    importing.out.mkdir()
    (importing.out / "mine.txt").write_text("mine")
    with pytest.raises(AuditError, match="not empty"):
        importing("outcomes", "there-is-no-such-file.csv", arms=[("baseline", "a")])
    assert (importing.out / "mine.txt").read_text() == "mine"
    (importing.out / "mine.txt").unlink()
    importing.out.rmdir()


def test_a_table_that_none_recognises_is_read_as_one_where_columns_are_named(importing, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": 1, "model": "a", "ok": true}\n{"id": 1, "model": "b", "ok": false}\n')
    mapping = [("arm", "model"), ("correct", "ok")]
    assert "by outcomes: 1 items" in importing(path, item="id", mapping=mapping, dry_run=True)
    with pytest.raises(AuditError) as error:
        importing(path)
    assert "A table (CSV, JSON lines, Parquet) is read by outcomes" in error.value.message
    assert f"audit import outcomes {path}" in error.value.message


def test_one_table_an_arm_is_read_as_one_where_a_field_is_named(importing, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": 1, "ok": true}\n')
    arms = [("baseline", str(tmp_path / "a.jsonl")), ("treatment", str(tmp_path / "b.jsonl"))]
    importing(arms=arms, item="id", mapping=[("correct", "ok")])
    assert importing.sql("SELECT count(DISTINCT arm) FROM evals") == [(2,)]


def test_what_another_importer_recognises_is_not_taken_for_a_table(importing, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 0.1}\n')
    with pytest.raises(AuditError, match="is no table"):
        importing(tmp_path / "metrics.jsonl", item="step")


def test_of_a_folder_that_none_recognises_it_is_said_what_in_it_is(importing, tmp_path):
    folder = tmp_path / "outputs"
    for number in range(9):
        (folder / f"run{number}").mkdir(parents=True)
        (folder / f"run{number}" / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 0.1}\n')
    with pytest.raises(AuditError) as error:
        importing(folder)
    assert "run0 (tinker_cookbook), run1 (tinker_cookbook)" in error.value.message
    assert error.value.message.count("(tinker_cookbook)") == 8
    (folder / "run0" / "metrics.jsonl").rename(tmp_path / "x")
    (folder / "run0" / "notes.md").write_text("x")
    (folder / "run0" / "deep").mkdir()
    (folder / "run0" / "deep" / "scores.csv").write_text(TABLE)
    with pytest.raises(AuditError, match=r"in it are deep/scores\.csv \(outcomes\)"):
        importing(folder / "run0")
    (folder / "run0" / "deep" / "scores.csv").unlink()
    with pytest.raises(AuditError, match="recognises it, nor anything in it"):
        importing(folder / "run0")


@pytest.mark.parametrize(
    ("roles", "typed"),
    [
        (["base", "treat"], "--weights treat=1,base=-1"), (["treat", "base"], "--weights treat=1,base=-1"),
        (["old", "new"], "--weights new=1,old=-1"), (["baseline", "my arm"], "--weights 'my arm=1,baseline=-1'"),
        (["a=b", "c"], "give them as in --arm baseline=NAME"), (["grpo"], "grpo is the only arm"),
        (["baseline", "treatment"], None),
    ],
)  # fmt: skip
def test_of_roles_that_decide_does_not_know_the_line_to_type_is_given(importing, table, audit, roles, typed):
    told = importing("outcomes", table, arms=list(zip(roles, "ab", strict=False)))
    assert ("note: " in told) == (typed is not None)
    assert (typed or "") in told
    if "--weights" in (typed or ""):
        line = re.search(r"`audit (decide .* --weights .*)`$", told, re.MULTILINE)[1]
        assert "Estimated difference" in audit(*shlex.split(line)).out
