import json
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from made_run import active_tokens, change_json, evals, made_plan, relist, rewrite, right, write_outcomes, write_run

from analysis.errors import AuditError
from audits.store import reader
from audits.store.reader import connect, open_run

TOKENS = "tokens/arm=dppo/seed=0/step=000000.parquet"


def read(path, sql="SELECT count(*), sum(sampler_logprob) FROM loss_tokens"):
    with connect(open_run(path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


def test_an_untouched_run_is_read(run):
    ((rows, total),) = read(run)
    assert (rows, total) == (320, -160.0)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"garbage", "truncated or changed"), (b"", "0 bytes"), (None, "is missing")],
)
def test_a_damaged_listed_file_is_an_error_that_names_it(run, content, said):
    path = run / TOKENS
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(AuditError, match=said) as error:
        read(run)
    assert TOKENS in error.value.message


@pytest.mark.parametrize("content", [b"", b"garbage", b"PAR1PAR1", b"PAR1" + b"\xff" * 40 + b"PAR1"])
def test_a_file_of_the_listed_size_that_is_no_parquet_is_an_error_that_names_it(run, content):
    (run / TOKENS).write_bytes(content)
    _set_record(run, TOKENS, bytes=len(content))
    with pytest.raises(AuditError, match="not a readable Parquet file") as error:
        read(run)
    assert TOKENS in error.value.message


def test_a_truncated_file_is_an_error(run):
    path = run / TOKENS
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(AuditError, match=TOKENS):
        read(run)


def test_garbage_inside_a_page_is_an_error_and_no_traceback(run):
    content = bytearray((run / TOKENS).read_bytes())
    for index in range(60, 200):
        content[index] ^= 0xFF
    (run / TOKENS).write_bytes(content)
    with pytest.raises(AuditError, match="cannot be read"):
        read(run, "SELECT sum(sampler_logprob), sum(step), sum(token_id), sum(position), sum(advantage) FROM tokens")


def test_a_changed_row_count_is_an_error(run):
    _set_record(run, TOKENS, rows=79)
    with pytest.raises(AuditError, match=r"80 rows, files\.jsonl says 79"):
        read(run)


def test_a_directory_in_the_place_of_a_file_is_an_error(run):
    (run / TOKENS).unlink()
    (run / TOKENS).mkdir()
    _set_record(run, TOKENS, bytes=(run / TOKENS).stat().st_size)
    with pytest.raises(AuditError, match=TOKENS):
        read(run)


def test_a_torn_last_line_is_passed_over_with_a_note(run):
    with (run / "files.jsonl").open("a") as handle:
        handle.write('{"path": "tok')
    assert any("never finished" in note for note in open_run(run).notes)
    assert read(run)[0][0] == 320


@pytest.mark.parametrize(
    "line", ["{", "", "null", "[]", '{"path": "x"}', "\ud83d".encode("utf-8", "replace").decode(), '{"path": 1}']
)
def test_a_malformed_line_in_the_middle_is_an_error_with_its_number(run, line):
    lines = (run / "files.jsonl").read_text().splitlines()
    (run / "files.jsonl").write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    with pytest.raises(AuditError, match="line 2"):
        open_run(run)


@pytest.mark.parametrize(
    "path",
    [
        "../x.parquet", "tokens/../../x.parquet", "/etc/passwd", "tokens/arm=a/seed=0/../step=000000.parquet",
        "./tokens/arm=dppo/seed=0/step=000000.parquet", "tokens//arm=dppo/seed=0/step=000000.parquet",
        "tokens\\arm=dppo\\x", "tokens/arm=dppo/seed=0/\x00.parquet", "", ".", "tokens/x.parquet",
        "tokens/arm=/seed=0/x.parquet", "tokens/arm=dppo/seed=-1/x.parquet", "tokens/arm=dppo/seed=one/x.parquet",
        "updates/arm=dppo/seed=0/step=000000.parquet",
    ],
)  # fmt: skip
def test_a_path_that_is_not_where_the_format_says_is_an_error_with_its_line(run, path):
    _set_record(run, TOKENS, path=path)
    with pytest.raises(AuditError, match=r"files\.jsonl, line \d+"):
        open_run(run)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("inside", [True, False])
def test_a_link_in_the_place_of_a_file_or_folder_is_an_error(run, tmp_path, inside):
    # A link to a file of the run would count its rows twice; a link out of it would let another file in.
    target = run / "tokens/arm=grpo/seed=0" if inside else tmp_path / "elsewhere"
    if not inside:
        (run / TOKENS).parent.rename(target)
    else:
        for file in (run / TOKENS).parent.iterdir():
            file.unlink()
        (run / TOKENS).parent.rmdir()
    (run / TOKENS).parent.symlink_to(target, target_is_directory=True)
    with pytest.raises(AuditError, match="link"):
        open_run(run)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_run_reached_through_a_link_is_read(run, tmp_path):
    (tmp_path / "linked").symlink_to(run, target_is_directory=True)
    assert read(tmp_path / "linked")[0][0] == 320


@pytest.mark.parametrize(
    "name", ["run[1]", "a b", "it's", 'say "x"', "größe", "a*?{b}", "lr=0.1", "arm=zzz", "seed=9", "x:y", "%20"]
)
def test_the_name_of_a_folder_above_the_run_changes_nothing(tmp_path, name):
    from audits.store.sandbox import query

    (tmp_path / name).mkdir()
    run = write_run(tmp_path / name / "seed=77")
    sql = "SELECT arm, seed, count(*) FROM tokens GROUP BY ALL ORDER BY ALL"
    assert read(run, sql) == [("dppo", 0, 160), ("grpo", 0, 160)]
    with query(open_run(run), sql) as relation:
        assert relation.fetchall() == [("dppo", 0, 160), ("grpo", 0, 160)]
    assert [row[0] for row in read(run, "DESCRIBE tokens")].count("seed") == 1


def test_a_run_named_relative_to_the_working_directory_is_read(run, monkeypatch):
    monkeypatch.chdir(run.parent)
    run.rename(run.parent / "a:b")
    assert read(Path("a:b"))[0][0] == 320


@pytest.mark.parametrize(
    "arm", ["a/b", "it's", "[x]", "NULL", "größe", "a b", "50%", "%41", "A=B", '"q"', "__HIVE_DEFAULT_PARTITION__"]
)
def test_an_arm_of_any_name_is_the_same_in_both_doors(tmp_path, arm):
    from audits.store.sandbox import query

    run = write_outcomes(tmp_path / "run", {arm: [evals(right(3))], "baseline": [evals(right(4))]})
    sql = "SELECT DISTINCT arm FROM evals ORDER BY arm"
    assert read(run, sql) == [(name,) for name in sorted([arm, "baseline"], key=lambda text: text.encode())]
    with query(open_run(run), sql) as relation:
        assert relation.fetchall() == read(run, sql)


def test_an_unknown_column_is_kept_in_both_doors(run):
    from audits.store.sandbox import query

    rewrite(run, TOKENS, lambda table: table.append_column("logit_bias", pa.array([0.5] * table.num_rows)))
    sql = "SELECT sum(logit_bias) FROM tokens"
    assert read(run, sql) == [(40.0,)]
    with query(open_run(run), sql) as relation:
        assert relation.fetchall() == [(40.0,)]


def test_an_absent_optional_column_is_null_in_both_doors(run):
    from audits.store.sandbox import query

    sql = "SELECT count(*), count(entropy), count(value) FROM tokens"
    assert read(run, sql) == [(320, 0, 0)]
    with query(open_run(run), sql) as relation:
        assert relation.fetchall() == [(320, 0, 0)]


def test_an_absent_required_column_names_column_file_and_command(run):
    rewrite(run, TOKENS, lambda table: table.drop_columns(["advantage"]))
    with pytest.raises(AuditError, match="column advantage is missing") as error:
        read(run)
    assert TOKENS in error.value.message
    assert "it is written by `audit run`" in error.value.message


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("advantage", pa.array(["x"] * 80)),
        ("step", pa.array([0.0] * 80)),
        ("token_id", pa.array([[1]] * 80)),
        ("current_logprob", pa.array([None] * 80)),
    ],
)
def test_a_column_of_another_type_is_an_error_that_names_it(run, column, values):
    rewrite(run, TOKENS, lambda table: table.set_column(table.schema.get_field_index(column), column, values))
    with pytest.raises(AuditError, match=f"column {column}"):
        read(run)


@pytest.mark.parametrize("statistics", [True, False])
def test_a_null_where_the_format_has_none_is_an_error(run, statistics):
    import pyarrow.parquet as pq

    table = pq.read_table(run / TOKENS, partitioning=None)
    values = pa.array([None, *table.column("current_logprob").to_pylist()[1:]], pa.float32())
    index = table.schema.get_field_index("current_logprob")
    pq.write_table(table.set_column(index, "current_logprob", values), run / TOKENS, write_statistics=statistics)
    relist(run)
    with pytest.raises(AuditError, match="column current_logprob has nulls"):
        read(run)


@pytest.mark.parametrize("wider", [pa.int64(), pa.int8()])
def test_whole_numbers_of_another_width_are_read_in_both_doors(run, wider):
    from audits.store.sandbox import query

    index = 0
    rewrite(run, TOKENS, lambda table: table.set_column(index, "step", table.column("step").cast(wider)))
    assert read(run, "SELECT count(*), sum(step) FROM tokens") == [(320, 160)]
    with query(open_run(run), "SELECT count(*), sum(step) FROM tokens") as relation:
        assert relation.fetchall() == [(320, 160)]


@pytest.mark.parametrize("column", ["arm", "seed"])
def test_a_stored_column_that_the_path_already_gives_is_an_error(run, column):
    rewrite(run, TOKENS, lambda table: table.append_column(column, pa.array(["liar"] * table.num_rows)))
    with pytest.raises(AuditError, match=f"column {column} is stored"):
        read(run)


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("Advantage", "column Advantage is spelt advantage in the format"),
        ("Surprisal", "column Surprisal is spelt surprisal in the format"),
        ("advantage", "column advantage stands there twice"),
        ("ARM", "column ARM is stored in the file"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_names_that_sql_does_not_tell_apart_are_an_error(run, added, said, first):
    def change(table):
        names = [added, *table.column_names] if first else [*table.column_names, added]
        beside = pa.array([0.0] * len(table), pa.float32())
        return pa.table([beside, *table.columns] if first else [*table.columns, beside], names=names)

    rewrite(run, TOKENS, change)
    with pytest.raises(AuditError, match=f"{TOKENS}: {said}"):
        read(run)


def test_whole_numbers_without_a_sign_and_64_bits_wide_are_an_error(run):
    def change(table):
        return table.set_column(0, "step", table["step"].cast(pa.uint64()))

    rewrite(run, TOKENS, change)
    with pytest.raises(AuditError, match="column step is uint64, the format says int32"):
        read(run)


def test_files_that_disagree_on_an_unknown_column_are_an_error(run):
    for step, value in ((0, 1), (1, "one")):
        relative = TOKENS.replace("000000", f"00000{step}")
        rewrite(run, relative, lambda table, value=value: table.append_column("x", pa.array([value] * table.num_rows)))
    with pytest.raises(AuditError, match="disagree"):
        read(run)


def test_a_table_that_was_never_logged_is_empty_and_known_as_such(tmp_path):
    run = write_run(tmp_path / "run", tokens_of=None)
    assert not open_run(run).has("tokens")
    assert read(run, "SELECT count(*), count(entropy) FROM tokens") == [(0, 0)]
    assert read(run, "SELECT * FROM update_drift") == []


@pytest.mark.parametrize("version", [2, 99])
def test_a_later_format_version_is_refused(run, version):
    change_json(run / "run.json", format_version=version)
    with pytest.raises(AuditError, match=f"version {version} is later"):
        open_run(run)


@pytest.mark.parametrize("version", ["2", None, True, 1.5, 0, -1, [1]])
def test_a_format_version_that_is_no_number_is_refused(run, version):
    change_json(run / "run.json", format_version=version)
    with pytest.raises(AuditError, match="format_version"):
        open_run(run)


def test_a_run_without_its_sealed_plan_is_refused(run):
    (run / "plan.json").unlink()
    with pytest.raises(AuditError, match=r"plan\.json is missing"):
        open_run(run)


def test_a_place_that_is_no_run_says_so(tmp_path):
    for place, said in ((tmp_path / "none", "no such run directory"), (tmp_path, r"has no run\.json")):
        with pytest.raises(AuditError, match=said):
            open_run(place)


def test_a_directory_in_the_place_of_each_file_of_the_run_is_an_error(tmp_path):
    for name in ("run.json", "plan.json", "files.jsonl"):
        run = write_run(tmp_path / name)
        (run / name).unlink()
        (run / name).mkdir()
        with pytest.raises(AuditError, match=name):
            open_run(run)


def test_an_empty_file_in_the_place_of_each_file_of_the_run_is_an_error_or_no_data(tmp_path):
    for name in ("run.json", "plan.json"):
        run = write_run(tmp_path / name)
        (run / name).write_bytes(b"")
        with pytest.raises(AuditError, match=name):
            open_run(run)
    run = write_run(tmp_path / "files")
    (run / "files.jsonl").write_bytes(b"")
    assert not open_run(run).has("tokens")


def test_a_log_of_another_seed_type_than_a_number_of_32_bits_is_read(tmp_path):
    plan = made_plan()
    for arm in plan["arms"]:
        arm["seed"] = 20260101123456
    plan["decision_rule"]["seeds"] = [20260101123456]
    run = write_run(tmp_path / "run", plan)
    assert read(run, "SELECT DISTINCT seed FROM tokens") == [(20260101123456,)]


def _set_record(run, listed, **changes):
    lines = [json.loads(line) for line in (run / "files.jsonl").read_text().splitlines()]
    text = "".join(json.dumps(line | changes if line["path"] == listed else line) + "\n" for line in lines)
    (run / "files.jsonl").write_text(text)


def test_rows_of_another_step_than_the_name_says_are_refused(tmp_path):
    run = write_run(tmp_path / "run", tokens_of=lambda arm, seed, step: active_tokens(arm, seed, 0))
    with (
        pytest.raises(AuditError, match=r"step=000001\.parquet: holds rows of step 0, and its name says 1"),
        connect(open_run(run)),
    ):
        pass


def test_a_line_of_an_unknown_table_may_not_point_outside_the_run(tmp_path):
    run = write_run(tmp_path / "run")
    line = {"path": "../../secret.txt", "table": "later", "rows": 1, "bytes": 1, "sha256": "0", "schema_version": 1}
    with (run / "files.jsonl").open("a") as handle:
        handle.write(json.dumps(line) + "\n")
    with pytest.raises(AuditError, match="outside the run"):
        open_run(run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
@pytest.mark.parametrize("name", ["run.json", "plan.json", "files.jsonl", "policy.json"])
def test_a_pipe_in_place_of_a_file_is_refused_and_waited_for_by_nobody(audit, tmp_path, name):
    run = write_run(tmp_path / "run")
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    assert name in audit.refuses("gate", run)


def test_a_connection_inside_another_shares_its_tables_and_leaves_its_unread_rows(run):
    opened = open_run(run)
    with connect(opened) as outer:
        outer.execute("CREATE TABLE made AS SELECT 7 AS number")
        rows = outer.sql("SELECT range FROM range(100000)").to_arrow_reader(1000)
        next(rows)
        with connect(opened) as inner:
            assert inner.execute("SELECT number, current_setting('TimeZone') FROM made").fetchall() == [(7, "UTC")]
            assert inner.execute("SELECT count(*) > 0 FROM tokens").fetchall() == [(True,)]
        assert sum(batch.num_rows for batch in rows) == 99000
    assert opened.connections == []
    with connect(opened) as later, pytest.raises(duckdb.CatalogException):
        later.execute("SELECT * FROM made")


def test_a_file_is_checked_once_and_again_when_it_changed(run, monkeypatch):
    opened, seen = open_run(run), []
    check = reader._check_file
    monkeypatch.setattr(reader, "_check_file", lambda path, *rest: seen.append(path) or check(path, *rest))
    for _ in range(2):
        with connect(opened):
            pass
    assert len(seen) == len(set(seen)) == len(opened.files)
    (run / opened.files[0].path).write_bytes(b"")
    with pytest.raises(AuditError, match="truncated or changed"), connect(opened):
        pass
