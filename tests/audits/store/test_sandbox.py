from pathlib import Path

import pytest
from made_run import evals, right, write_experiment, write_outcomes, write_run

from analysis.errors import AuditError
from audits.store.reader import open_run
from audits.store.sandbox import open_sandbox, query


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return open_run(write_experiment(tmp_path_factory.mktemp("sandbox")))


def ask(run, sql, **options):
    with query(run, sql, **options) as answer:
        return answer.fetchall()


def snapshot(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


WRITES = {
    "copy": "COPY (SELECT 1) TO '{}/x'",
    "copy in a table expression": "WITH x AS (COPY (SELECT 1) TO '{}/x') SELECT 1",
    "copy over a file of the run": "WITH x AS (COPY (SELECT 1) TO '{}/run.json' (USE_TMP_FILE false)) SELECT 1",
    "attach": "ATTACH '{}/x.duckdb'",
    "export": "EXPORT DATABASE '{}/x'",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "set": "SET enable_external_access = true",
    "reset": "RESET lock_configuration",
    "pragma": "PRAGMA enable_external_access = true",
    "create": "CREATE TABLE x AS SELECT 1",
    "drop": "DROP VIEW loss_tokens",
    "insert": "INSERT INTO evals SELECT * FROM evals",
    "delete": "DELETE FROM evals",
    "update": "UPDATE evals SET score = 1",
    "two statements": "SELECT 1; SELECT 2",
    "a statement behind a select": "SELECT 1; COPY (SELECT 1) TO '{}/x'",
    "call": "CALL pragma_version()",
    "nothing": "",
    "only a comment": "-- SELECT 1",
}


@pytest.mark.parametrize("sql", WRITES.values(), ids=WRITES.keys())
def test_nothing_can_be_written_or_changed(run, sql):
    before = snapshot(run.path.parent)
    with pytest.raises(AuditError):
        ask(run, sql.format(run.path))
    assert snapshot(run.path.parent) == before


READS = {
    "read_csv": "SELECT * FROM read_csv('{}')",
    "read_text": "SELECT * FROM read_text('{}')",
    "read_blob": "SELECT * FROM read_blob('{}')",
    "read_json": "SELECT * FROM read_json('{}')",
    "read_parquet": "SELECT * FROM read_parquet('{}')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('{}')",
    "glob": "SELECT * FROM glob('{}*')",
    "sniff_csv": "SELECT * FROM sniff_csv('{}')",
    "a file as a table": "SELECT * FROM '{}'",
    "through query()": "SELECT * FROM query('SELECT * FROM read_text(''{}'')')",
    "a url": "SELECT * FROM read_text('https://example.invalid/{}')",
}


@pytest.mark.parametrize("sql", READS.values(), ids=READS.keys())
@pytest.mark.parametrize("inside", [True, False])
def test_no_file_can_be_read_neither_outside_the_run_nor_inside(run, tmp_path, sql, inside):
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with pytest.raises(AuditError, match=r"(?i)permission|disabled|not exist"):
        ask(run, sql.format(run.path / "run.json" if inside else tmp_path / "secret.csv"))


def test_a_variable_of_our_own_process_is_not_a_table(run):
    import pyarrow as pa

    secret = pa.table({"a": [1]})
    assert secret.num_rows == 1
    for name in ("secret", "run", "sql", "schema"):
        with pytest.raises(AuditError, match="does not exist"):
            ask(run, f"SELECT * FROM {name}")


def test_the_time_limit_stops_a_query_with_one_sentence(run):
    slow = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
    with pytest.raises(AuditError, match="maximum execution time"):
        ask(run, slow, seconds=1)


def test_the_memory_limit_stops_a_query_with_one_sentence(run):
    with pytest.raises(AuditError, match=r"(?i)memory"):
        ask(run, "SELECT list(range) FROM range(100000000)", memory_limit="50MB")


@pytest.mark.parametrize("limit", ["lots", "1GB'; SELECT 1; --", ""])
def test_a_memory_limit_that_is_none_is_an_error(run, limit):
    with pytest.raises(AuditError):
        ask(run, "SELECT 1", memory_limit=limit)


def test_tables_and_views_join(run):
    sql = """
        SELECT t.arm, count(*), max(u.base_model), max(d.abs_p_q90)
        FROM loss_tokens t
        JOIN updates u USING (arm, seed, step, "update")
        JOIN update_drift d USING (arm, seed, step, "update")
        GROUP BY ALL ORDER BY ALL
    """
    rows = ask(run, sql)
    assert [row[:3] for row in rows] == [("dppo", 240, "tiny-addition"), ("grpo", 240, "tiny-addition")]
    assert ask(run, "SELECT count(*) FROM final_item_scores WHERE arm = 'dppo' AND score = 1") == [(20,)]
    assert ask(run, "FROM phases LIMIT 1;")
    assert ask(run, "WITH x AS (SELECT 1 AS a) SELECT a FROM x") == [(1,)]


def test_a_table_that_was_never_logged_is_named_with_those_that_were(tmp_path):
    run = open_run(write_outcomes(tmp_path / "run", {"baseline": [evals(right(2))]}))
    for sql in ("SELECT * FROM tokens", "SELECT * FROM loss_tokens"):
        with pytest.raises(AuditError, match=r"never logged in .*tokens.*; logged: evals"):
            ask(run, sql)


def test_the_wrong_column_is_named(run):
    with pytest.raises(AuditError, match="sampler_logprobs"):
        ask(run, "SELECT sampler_logprobs FROM tokens")


def test_a_flipped_bit_in_a_page_is_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    path = run / "tokens/arm=dppo/seed=0/step=000000.parquet"
    content = bytearray(path.read_bytes())
    content[80] ^= 1
    path.write_bytes(content)
    with pytest.raises(AuditError, match="tokens"):
        ask(open_run(run), "SELECT * FROM tokens")


def test_no_spill_folder_is_left(run, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ask(run, "SELECT count(*) FROM tokens")
    with pytest.raises(AuditError):
        ask(run, "SELECT nonsense")
    assert list(tmp_path.iterdir()) == []


SPILL = "SELECT current_setting('temp_directory')"
SPILL_WRITES = {
    "copy in a table expression": "WITH x AS (COPY (SELECT 1) TO '{}/x.csv') SELECT 1",
    "copy of a table": "WITH x AS MATERIALIZED (COPY tokens TO '{}/x.parquet') SELECT * FROM x WHERE false",
    "partitioned copy": "WITH x AS (COPY (SELECT 1 AS a, 2 AS b) TO '{}/x' (FORMAT csv, PARTITION_BY (a))) SELECT 1",
    "as serialized sql": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
        "'WITH x AS (COPY (SELECT 1) TO ''{}/x.csv'') SELECT 1'))"
    ),
    "as serialized sql through query()": (
        "SELECT * FROM query('SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
        "''WITH x AS (COPY (SELECT 1) TO ''''{}/x.csv'''') SELECT 1''))')"
    ),
}


@pytest.mark.parametrize("sql", SPILL_WRITES.values(), ids=SPILL_WRITES.keys())
def test_not_even_the_directory_that_the_engine_spills_to_can_be_written(run, sql):
    """DuckDB allows its own spill directory when all others are closed."""
    with open_sandbox([run]) as sandbox:
        with sandbox.select(SPILL) as answer:
            spill = Path(answer.fetchall()[0][0])
        with pytest.raises(AuditError, match="would write"), sandbox.select(sql.format(spill)) as answer:
            answer.fetchall()
        assert list(spill.iterdir()) == []


def test_a_join_that_the_engine_does_by_merging_only_reads(run):
    joined = "SELECT count(*) FROM range({0}) AS p(x) JOIN range({0}) AS q(y) ON x < y"
    assert ask(run, joined.format(50)) == [(1225,)]
    assert ask(run, joined.format(3000)) == [(4_498_500,)]


def test_a_statement_that_only_speaks_of_copying_is_none(run):
    assert ask(run, "SELECT 'COPY x TO y' AS copy, 1 AS \"update\" -- DELETE") == [("COPY x TO y", 1)]


def test_the_columns_can_be_listed_and_summarized(run):
    assert ("run", "VARCHAR") in [row[:2] for row in ask(run, "DESCRIBE tokens")]
    assert {row[0] for row in ask(run, "SUMMARIZE evals")} >= {"run", "item_id", "score"}


NOT_IN_ARROW = ["340282366920938463463374607431768211455::UHUGEINT", "TIMETZ '12:00:00+02'", "'101'::BIT", "1::VARIANT"]


@pytest.mark.parametrize("value", NOT_IN_ARROW)
def test_a_value_that_would_come_out_as_another_is_an_error_that_names_the_column(run, value):
    for sql in (f"SELECT {value} AS x", f"SELECT [{value}] AS x"):
        with pytest.raises(AuditError, match=r"column x .*cast"):
            ask(run, sql)
    assert ask(run, f"SELECT CAST({value} AS VARCHAR) AS x")


def test_one_sandbox_answers_many_statements_and_survives_an_error_and_rows_that_nobody_read(run):
    with open_sandbox([run]) as sandbox:
        with sandbox.select("SELECT * FROM range(10000000)") as answer:
            assert answer.read_next_batch().num_rows > 0
        with pytest.raises(AuditError), sandbox.select("SELECT nonsense"):
            pass
        with pytest.raises(AuditError, match="boo"), sandbox.select("SELECT error('boo')") as answer:
            answer.fetchall()
        with sandbox.select("SELECT 42") as answer:
            assert answer.fetchall() == [(42,)]


def test_a_statement_that_is_no_text_is_an_error(run):
    with pytest.raises(AuditError, match="UTF-8"):
        ask(run, "SELECT '\udcff'")


def test_a_derived_table_that_is_not_there_is_told_apart_from_one_that_was_never_logged(run):
    with pytest.raises(AuditError, match=r"derived_answers .*computed by `audit integrity .*has not run there yet"):
        ask(run, "SELECT * FROM derived_answers")
