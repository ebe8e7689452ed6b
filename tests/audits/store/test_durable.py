"""Whole files and whole lines, also in a run that somebody else prepared."""

import pytest

from analysis.errors import AuditError
from audits.store.durable import append_lines, whole_file, write_whole


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
