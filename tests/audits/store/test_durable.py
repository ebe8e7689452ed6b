"""Whole files and whole lines, also in a run that somebody else prepared."""

import pytest

from analysis.errors import AuditError
from audits.store.durable import append_lines, held, remove_unfinished, whole_file, write_whole


def test_a_link_left_in_a_run_does_not_send_our_lines_elsewhere(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine, without a newline")
    (tmp_path / "looks.jsonl").symlink_to(victim)
    with pytest.raises(AuditError, match="is a link"):
        append_lines(tmp_path / "looks.jsonl", ["{}"])
    assert victim.read_text() == "mine, without a newline"


@pytest.mark.parametrize("name", [".report.html.tmp", "report.html"])
def test_a_link_left_in_a_run_does_not_send_our_file_elsewhere(tmp_path, name):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (tmp_path / name).symlink_to(victim)
    write_whole(tmp_path / "report.html", b"page")
    assert victim.read_text() == "mine"
    assert (tmp_path / "report.html").read_bytes() == b"page"
    assert not (tmp_path / "report.html").is_symlink()


def test_a_block_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    (tmp_path / "x").write_text("old")

    def fail():
        with whole_file(tmp_path / "x") as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "old"


def test_a_torn_last_line_is_cut_off_before_another_is_written(tmp_path):
    for torn in ("half", "", "x" * 100_000):
        (tmp_path / "lines.jsonl").write_text(f"one\ntwo\n{torn}")
        append_lines(tmp_path / "lines.jsonl", ["three"])
        assert (tmp_path / "lines.jsonl").read_text() == "one\ntwo\nthree\n"
    (tmp_path / "lines.jsonl").write_text("half")
    append_lines(tmp_path / "lines.jsonl", ["one"])
    assert (tmp_path / "lines.jsonl").read_text() == "one\n"


def test_a_run_is_held_by_one_writer_at_a_time(tmp_path):
    lock = tmp_path / "state" / "writer.lock"
    with held(lock), pytest.raises(AuditError, match="another process is writing this run"), held(lock):
        pass
    with held(lock):
        pass


def test_only_unfinished_files_of_ours_are_removed(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/.step.parquet.x1.tmp", "a/step.parquet", "notes.tmp", ".hidden"):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"a/step.parquet", "notes.tmp", ".hidden"}
