import json
import os
import threading

import pyarrow.parquet as pq
import pytest
from made_run import active_tokens, evals, made_plan, phases, right, rollouts, sealed, tokens, updates, write_run

from analysis.errors import AuditError
from audits.engine.completeness import whole_steps
from audits.store import manifest as manifest_module
from audits.store.durable import append_lines, whole_content
from audits.store.layout import partition_folder, partition_of
from audits.store.manifest import Manifest, read_files
from audits.store.reader import connect, open_run
from audits.store.schema import tables
from audits.store.writer import RunWriter


@pytest.fixture
def writer(tmp_path):
    facts = Manifest(
        run_id="r", kind="pilot", status="running", arms=[], started_at="t", plan_sha256=sealed(made_plan()).sha256
    )
    return RunWriter.create(tmp_path / "run", facts, sealed(made_plan()))


def step_data(step=0):
    return {
        "tokens": active_tokens("a", 0, step),
        "rollouts": rollouts(step),
        "updates": updates(step),
        "phases": phases(step),
    }


def test_a_writer_killed_between_two_files_leaves_a_step_that_is_not_whole(writer, monkeypatch):
    writer.write_step("a", 0, 0, step_data(0))
    written = []

    def dies_at_the_third(path):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        return whole_content(path)

    monkeypatch.setattr("audits.store.writer.whole_content", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        writer.write_step("a", 0, 1, step_data(1))
    assert all(path.exists() for path in written)
    run = open_run(writer.run)
    assert whole_steps(run) == {("a", 0): [0]}
    with connect(run) as connection:
        assert connection.execute("SELECT DISTINCT step FROM tokens").fetchall() == [(0,)]


def test_a_step_with_three_of_its_four_tables_is_not_whole(writer):
    data = step_data()
    del data["phases"]
    writer.write_step("a", 0, 0, data)
    assert whole_steps(open_run(writer.run)) == {}


def test_a_file_being_written_is_never_read(writer):
    writer.write_step("a", 0, 0, step_data())
    folder = writer.run / "tokens" / "arm=a" / "seed=0"
    (folder / ".step=000001.parquet.tmp").write_bytes((folder / "step=000000.parquet").read_bytes())
    (folder / "step=000002.parquet").write_bytes((folder / "step=000000.parquet").read_bytes())
    with connect(open_run(writer.run)) as connection:
        assert connection.execute("SELECT count(*) FROM tokens").fetchall() == [(80,)]


def test_a_failing_write_leaves_the_old_file_and_no_new_one(tmp_path, monkeypatch):
    path = tmp_path / "file"
    manifest_module.write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        manifest_module.write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_files_have_one_row_group_zstd_page_checksums_and_no_byte_stream_split(writer):
    writer.write_step("a", 0, 0, step_data())
    writer.write_evals("a", 0, "final", evals(right(3)))
    for record in read_files(writer.run)[0]:
        path = writer.run / record.path
        with pq.ParquetFile(path) as parquet:
            assert parquet.metadata.num_row_groups == 1
            columns = [parquet.metadata.row_group(0).column(i) for i in range(parquet.metadata.num_columns)]
            assert {column.compression for column in columns} == {"ZSTD"}
            assert not any("BYTE_STREAM_SPLIT" in column.encodings for column in columns)
        content = bytearray(path.read_bytes())
        content[columns[0].data_page_offset + columns[0].total_compressed_size - 1] ^= 1
        (writer.run / "flipped.parquet").write_bytes(content)
        with pytest.raises(OSError, match=r"(?i)crc|checksum|deserialize"):
            pq.read_table(writer.run / "flipped.parquet", page_checksum_verification=True)


def test_the_manifest_line_says_size_rows_and_hash_of_the_file(writer):
    import hashlib

    writer.write_evals("a", 0, "final", evals(right(3)))
    (line,) = (writer.run / "files.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    content = (writer.run / record["path"]).read_bytes()
    assert record["path"] == "evals/arm=a/seed=0/checkpoint=final.parquet"
    assert (record["rows"], record["bytes"]) == (20, len(content))
    assert record["sha256"] == hashlib.sha256(content).hexdigest()


def test_arrow_types_are_those_of_the_schema_file(writer):
    writer.write_step("a", 0, 0, step_data())
    with pq.ParquetFile(writer.run / "tokens/arm=a/seed=0/step=000000.parquet") as parquet:
        present = set(parquet.schema_arrow.names)
        wanted = tables()["tokens"].arrow_schema(present)
        assert parquet.schema_arrow.remove_metadata().equals(wanted.remove_metadata())
        assert not parquet.schema_arrow.field("advantage").nullable


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"advantages": [1.0]}, "no column advantages"),
        ({"advantage": None}, "needs advantage"),
        ({"advantage": [None]}, "advantage has nulls"),
        ({"advantage": ["much"]}, "step=000000"),
        ({"advantage": [1.0, 2.0]}, "step=000000"),
        ({"update": [300]}, "step=000000"),
        ({"step": [0.5]}, "step=000000"),
    ],
)
def test_columns_that_the_format_does_not_allow_are_refused_and_nothing_is_written(writer, change, named):
    columns = {name: value for name, value in (tokens([(0, -1.0, -1.0, 1.0)]) | change).items() if value is not None}
    with pytest.raises(ValueError, match=named):
        writer.write_step("a", 0, 0, {"tokens": columns})
    assert not (writer.run / "files.jsonl").exists()
    assert not list(writer.run.rglob("*.parquet"))


def test_a_directory_that_holds_something_is_not_written_into(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(AuditError, match="not empty"):
        write_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_empty_directory_is_taken(tmp_path):
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run")
    assert open_run(tmp_path / "run").has("tokens")


def test_a_place_under_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(AuditError, match="file"):
            write_run(place)


def test_the_plan_is_on_the_disk_before_the_manifest(tmp_path, monkeypatch):
    monkeypatch.setattr("audits.store.writer.write_manifest", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["plan.json"]


def test_appending_after_a_torn_line_cuts_it_off(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b'{"a": 1}\n{"b"')
    append_lines(path, ["{}"])
    assert path.read_bytes() == b'{"a": 1}\n{}\n'
    path.write_bytes(b'{"torn')
    append_lines(path, ["{}"])
    assert path.read_bytes() == b"{}\n"


@pytest.mark.parametrize(
    "arm", ["a/b", "..", "a=b", "it's", "[a]*?", "100%", "%2F", "NULL", "größe", "a b", "a\nb", '"']
)
def test_any_arm_name_comes_back_from_its_path(arm):
    assert partition_of(f"{partition_folder('evals', arm, 3)}/x.parquet") == (arm, 3)
    assert len(partition_folder("evals", arm, 3).parts) == 3


def test_an_arm_without_a_name_is_refused():
    with pytest.raises(ValueError, match="name"):
        partition_folder("evals", "", 0)


def test_reopening_removes_what_was_begun_and_not_listed(writer):
    writer.write_step("a", 0, 0, step_data(0))
    kept = set(writer.run.rglob("*.parquet"))
    unlisted = writer.run / "tokens" / "arm=a" / "seed=0" / "step=000001.parquet"
    unlisted.write_bytes(b"whole, but its line was never written")
    (writer.run / "prompts.parquet").write_bytes(b"likewise")
    (writer.run / "tokens" / ".step=000001.parquet.ab.tmp").write_bytes(b"half")
    reopened = RunWriter.reopen(writer.run)
    assert {path for path in writer.run.rglob("*") if path.suffix in {".parquet", ".tmp"}} == kept
    assert reopened.manifest.run_id == writer.manifest.run_id
    assert len(reopened.files()) == 4


def test_prompts_come_back_as_they_were_written(writer):
    written = {
        "prompt_id": ["p1", "p0"],
        "split": ["train", "test"],
        "prompt_sha256": ["a", "b"],
        "question": ["1+1", "1+2"],
        "rendered": ["1+1=", "1+2="],
        "token_ids": [[1, 2], [1, 3]],
        "gold": ["2", "3"],
        "template_sha256": ["t", "t"],
    }
    writer.write_prompts(written)
    names = ["token_ids", "prompt_id", "gold"]
    assert writer.read_prompts(names) == {name: written[name] for name in names}


def test_reopening_follows_no_link(writer, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.parquet").write_bytes(b"mine")
    (writer.run / "tokens").symlink_to(elsewhere)
    with pytest.raises(AuditError, match="is a link"):
        RunWriter.reopen(writer.run)
    assert (elsewhere / "mine.parquet").exists()


def test_what_is_dropped_has_neither_line_nor_file(writer):
    for step in range(2):
        writer.write_step("a", 0, step, step_data(step))
    writer.drop(lambda record: record.path.endswith("step=000001.parquet"))
    assert whole_steps(open_run(writer.run)) == {("a", 0): [0]}
    assert not list(writer.run.rglob("step=000001.parquet"))
    writer.write_step("a", 0, 1, step_data(1))
    assert whole_steps(open_run(writer.run)) == {("a", 0): [0, 1]}


def test_where_outcomes_are_listed_the_time_they_took_is_too(writer, monkeypatch):
    lines = []
    monkeypatch.setattr("audits.store.writer.append_lines", lambda path, records: lines.extend(records))
    writer.write_evals("a", 0, "final", evals(right(3)), phases(0))
    assert [json.loads(line)["table"] for line in lines] == ["phases", "evals"]


def test_arms_that_write_at_the_same_time_lose_no_line(writer):
    def write(arm):
        for step in range(10):
            writer.write_step(arm, 0, step, step_data(step))
            writer.change_manifest(lambda manifest: {"service_faults": manifest.service_faults + 1})

    threads = [threading.Thread(target=write, args=(arm,)) for arm in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert whole_steps(open_run(writer.run)) == {(arm, 0): list(range(10)) for arm in "abcd"}
    assert open_run(writer.run).manifest.service_faults == 40
