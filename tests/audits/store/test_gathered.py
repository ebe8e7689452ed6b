import pyarrow.parquet as pq
import pytest

from analysis.errors import AuditError
from audits.store import gathered
from audits.store.gathered import Scratch
from audits.store.manifest import Manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter


def outcomes(n, **columns):
    return [
        {
            "checkpoint": "final",
            "item_id": f"q{i}",
            "sample": 0,
            "score": i % 2,
            "completion": "x" * (i % 50),
            **columns,
        }
        for i in range(n)
    ]


def written(folder, found, memory, table="evals"):
    """Write rows through a scratch with so much memory; returns the file and how many parts went to disk."""
    writer = RunWriter.create(
        folder, Manifest(run_id="r", kind="imported", status="complete", arms=[], started_at="t"), None
    )
    with Scratch(folder, memory=memory) as scratch:
        rows = scratch.rows(table)
        for row in found:
            rows.append(row)
        writer.write_evals("a", 0, "final", rows)
        parts = len(list(folder.parent.glob(".runaudit-import-*/*")))
    assert not list(folder.parent.glob(".runaudit-import-*")), "the scratch folder was left behind"
    return folder / "evals" / "arm=a" / "seed=0" / "checkpoint=final.parquet", parts


@pytest.mark.parametrize("memory", [1, 3_000, 20_000])
def test_rows_that_went_to_disk_make_the_same_file(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(gathered, "_GROUP_BYTES", 7_000)
    whole, none = written(tmp_path / "whole", outcomes(100), 1 << 30)
    spilled, parts = written(tmp_path / "spilled", outcomes(100), memory)
    assert (none, parts > 0) == (0, True)
    assert spilled.read_bytes() == whole.read_bytes()
    with pq.ParquetFile(spilled) as parquet:
        assert parquet.num_row_groups > 3
        assert parquet.read().to_pylist() == outcomes(100)


@pytest.mark.parametrize(("n", "groups"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_row_group_ends_where_its_bound_is_reached(tmp_path, monkeypatch, n, groups):
    monkeypatch.setattr(gathered, "_GROUP_BYTES", 2 * gathered._VALUE_BYTES * 4)
    rows = [{"checkpoint": "final", "item_id": "", "sample": i, "score": 1.0} for i in range(n)]
    path, _ = written(tmp_path / "run", rows, 1 << 30)
    with pq.ParquetFile(path) as parquet:
        assert parquet.num_row_groups == groups
        assert parquet.read().column("sample").to_pylist() == list(range(n))


def test_a_column_without_a_value_is_not_written_and_a_score_always_is(tmp_path):
    path, _ = written(tmp_path / "run", outcomes(3, score=None, error="timed out", gold=None), 1)
    with pq.ParquetFile(path) as parquet:
        assert parquet.schema_arrow.names == ["checkpoint", "item_id", "sample", "score", "completion", "error"]


def test_a_null_where_the_format_has_none_is_a_bug_of_the_importer(tmp_path):
    with pytest.raises(ValueError, match="item_id has nulls"):
        written(tmp_path / "run", [*outcomes(2), {"checkpoint": "final", "sample": 0, "score": 1.0}], 1 << 30)


def test_an_unknown_column_is_refused_at_once():
    with Scratch() as scratch, pytest.raises(ValueError, match="evals has no column colour"):
        scratch.rows("evals").append({"colour": "red"})


def test_the_largest_table_goes_to_disk_first(tmp_path):
    with Scratch(tmp_path / "run", memory=10_000) as scratch:
        small, large = scratch.rows("evals"), scratch.rows("evals")
        small.append(outcomes(1)[0])
        for row in outcomes(100):
            large.append(row)
        assert small.held > 0
        assert large.held < 10_000
        assert len(large) == 100
        assert [row["item_id"] for row in large.records()] == [f"q{i}" for i in range(100)]


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_a_question_sees_all_rows_wherever_they_stand(tmp_path, memory):
    with Scratch(tmp_path / "run", memory=memory) as scratch:
        rows, others = scratch.rows("evals"), scratch.rows("evals")
        for row in outcomes(5):
            rows.append(row)
        for row in outcomes(7)[1:]:
            others.append(row)
        assert rows.ask("items") == [(5, 0)]
        assert rows.ask("unmatched_items", others=others) == [("q0", 1, 4)]
        assert others.ask("unmatched_items", others=rows) == [("q5", 2, 4), ("q6", 2, 4)]


@pytest.mark.parametrize("memory", [1, 1 << 30])
@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.5])
def test_a_score_out_of_range_is_found_in_memory_and_on_disk(tmp_path, memory, score):
    with Scratch(tmp_path / "run", memory=memory) as scratch:
        rows = scratch.rows("evals")
        for row in [*outcomes(3), {"checkpoint": "final", "item_id": "bad", "sample": 0, "score": score}]:
            rows.append(row)
        assert [row[0] for row in rows.ask("score_faults")] == ["bad"]


def test_a_prompt_is_kept_once_and_may_not_change(tmp_path):
    with Scratch() as scratch:
        prompts = scratch.prompts()
        row = {"prompt_id": "p", "split": "test", "question": "1 + 1?", "gold": "2"}
        prompts.add(row, "line 1")
        prompts.add({**row, "rendered": None}, "line 2")
        assert len(prompts.rows) == 1
        with pytest.raises(AuditError, match="line 3: prompt p is another here"):
            prompts.add({**row, "gold": "3"}, "line 3")


def test_a_run_of_gathered_rows_is_read_as_any_other(tmp_path):
    written(tmp_path / "run", outcomes(10), 1)
    with connect(open_run(tmp_path / "run")) as connection:
        assert connection.execute("SELECT count(*), sum(score) FROM evals").fetchall() == [(10, 5.0)]
