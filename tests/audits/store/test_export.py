import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_run import evals, right, write_experiment, write_outcomes

from analysis.errors import AuditError
from audits.store.export import export_tables, rows_of, write_csv, write_json, write_parquet
from audits.store.reader import open_run
from audits.store.sandbox import open_sandbox, query

VALUES = """
    SELECT 'nan'::DOUBLE AS nan, 'inf'::DOUBLE AS inf, NULL AS nothing, [1, NULL] AS list, {'a': [1.5]} AS struct,
           true AS yes, sum(2) AS total, 1.50::DECIMAL(5, 2) AS price, DATE '2026-01-02' AS day,
           TIMESTAMPTZ '2026-01-02 03:04:05+00' AS at, 'a,"b"\nc' AS text, '\\xAB'::BLOB AS raw
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return open_run(write_outcomes(tmp_path_factory.mktemp("export") / "run", {"baseline": [evals(right(2))]}))


@pytest.fixture
def export(run):
    def export(sql, write, *target):
        stream = io.StringIO()
        with query(run, sql) as answer:
            write(answer, *(target or (stream,)))
        return stream.getvalue()

    return export


def test_json_is_strict_and_keeps_whole_numbers_whole(export):
    def refuse(word):
        raise AssertionError(word)

    (row,) = json.loads(export(VALUES, write_json), parse_constant=refuse)
    assert row == {
        "nan": None, "inf": None, "nothing": None, "list": [1, None], "struct": {"a": [1.5]}, "yes": True, "total": 2,
        "price": 1.5, "day": "2026-01-02", "at": "2026-01-02T03:04:05+00:00", "text": 'a,"b"\nc', "raw": "ab",
    }  # fmt: skip
    assert isinstance(row["total"], int)


def test_csv_reads_back_and_holds_lists_as_json(export):
    header, row = csv.reader(io.StringIO(export(VALUES, write_csv), newline=""))
    found = dict(zip(header, row, strict=True))
    assert found["nothing"] == ""
    assert found["list"] == "[1, null]"
    assert found["struct"] == '{"a": [1.5]}'
    assert found["yes"] == "true"
    assert found["text"] == 'a,"b"\nc'
    assert found["raw"] == "ab"
    assert (found["nan"], found["inf"], found["total"]) == ("nan", "inf", "2")


def test_parquet_reads_back(export, tmp_path):
    export(VALUES, write_parquet, tmp_path / "x.parquet")
    (row,) = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert row["list"] == [1, None]
    assert row["nan"] != row["nan"]


def test_no_row_is_an_empty_array_a_header_and_an_empty_file(export, tmp_path):
    sql = "SELECT item_id, score FROM evals WHERE false"
    assert json.loads(export(sql, write_json)) == []
    assert export(sql, write_csv) == "item_id,score\n"
    export(sql, write_parquet, tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0


@pytest.mark.parametrize("write", [write_json, write_parquet])
def test_two_columns_of_one_name_are_an_error_where_one_would_be_lost(export, tmp_path, write):
    target = (tmp_path / "x.parquet",) if write is write_parquet else ()
    with pytest.raises(AuditError, match="two columns are called a"):
        export("SELECT 1 AS a, 2 AS a", write, *target)


def test_a_value_that_python_cannot_hold_is_an_error_that_names_the_column(export):
    for sql in ("SELECT 'infinity'::TIMESTAMP AS x", "SELECT '5877642-06-25 (BC)'::DATE AS x"):
        with pytest.raises(AuditError, match="column x"):
            export(sql, write_json)


def test_a_type_without_a_parquet_form_is_an_error_and_leaves_no_file(export, tmp_path):
    with pytest.raises(AuditError, match="cast"):
        export("SELECT INTERVAL 1 DAY AS x", write_parquet, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_middle_of_the_rows_is_one_sentence_and_leaves_no_file(run, tmp_path):
    sql = "SELECT CASE WHEN range < 5000000 THEN range ELSE error('boo')::BIGINT END AS x FROM range(6000000)"
    with pytest.raises(AuditError, match="boo"), query(run, sql) as answer:
        list(rows_of(answer))
    with pytest.raises(AuditError, match="boo"), query(run, sql) as answer:
        write_parquet(answer, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_an_error(export, tmp_path):
    for place in (tmp_path, tmp_path / "none" / "x.parquet"):
        with pytest.raises(AuditError, match="cannot be written"):
            export("SELECT 1 AS a", write_parquet, place)


def test_invalid_text_in_a_foreign_file_is_an_error_that_names_the_column():
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\x00\x00\x00\x00\x01\x00\x00\x00"), pa.py_buffer(b"\xff"))
    batch = pa.record_batch([broken], names=["x"])
    with pytest.raises(AuditError, match="column x"):
        list(rows_of(pa.RecordBatchReader.from_batches(batch.schema, [batch])))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_a_terminal_is_sent_no_control_character(write):

    table = pa.table({"text": ["\x1b[31mred\x9b"]})
    shown, stored = Terminal(), io.StringIO()
    write(table.to_reader(), shown)
    write(table.to_reader(), stored)
    assert not {"\x1b", "\x9b"} & set(shown.getvalue())
    assert "\x9b" in stored.getvalue()


def test_every_table_and_view_is_exported_as_the_query_sees_it(tmp_path):
    run = open_run(write_experiment(tmp_path / "runs"))
    with open_sandbox([run]) as sandbox:
        written = dict(export_tables(sandbox, tmp_path / "out"))
        assert (
            {path.stem for path in written}
            == set(sandbox.names)
            == {path.stem for path in (tmp_path / "out").iterdir()}
        )
        assert {"tokens", "evals", "loss_tokens", "update_drift"} <= set(sandbox.names)
        for path, rows in written.items():
            table = pq.read_table(path)
            with sandbox.select(f"SELECT * FROM {path.stem} ORDER BY ALL") as answer:
                expected = answer.fetchall()
            assert len(expected) == table.num_rows == rows
            assert sorted(map(repr, zip(*table.to_pydict().values(), strict=True))) == sorted(map(repr, expected))


def test_the_rows_of_an_export_stay_in_the_order_of_the_log(tmp_path):
    run = open_run(write_experiment(tmp_path / "runs"))
    with open_sandbox([run]) as sandbox:
        list(export_tables(sandbox, tmp_path / "out"))
    rows = pq.read_table(tmp_path / "out/tokens.parquet", columns=["arm", "step", "update", "rollout_id"]).to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["arm"], row["step"], row["update"], row["rollout_id"]))


@pytest.mark.parametrize("kind", ["filled folder", "file"])
def test_an_export_mixes_with_nothing_that_stands_there(run, tmp_path, kind):
    target = tmp_path / "out"
    if kind == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "tokens.parquet").write_text("mine")
    with open_sandbox([run]) as sandbox, pytest.raises(AuditError, match=r"not empty|cannot be made"):
        list(export_tables(sandbox, target))
    assert [path.read_text() for path in [target, *target.glob("*")] if path.is_file()] == ["mine"]
