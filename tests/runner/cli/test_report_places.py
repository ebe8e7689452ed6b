"""Where `audit report` may write: never over a file that a run owns."""

import pytest
from made_run import right, write_experiment


@pytest.fixture
def full(tmp_path):
    return write_experiment(tmp_path, scores={"grpo": right(0), "dppo": right(20)})


@pytest.mark.parametrize("place", ["plan.json", "files.jsonl", "evals/page.html", "../pilot/run.json"])
def test_a_page_replaces_no_file_of_a_run(audit, full, place):
    before = {path: path.read_bytes() for path in full.parent.rglob("*") if path.is_file()}
    said = audit.refuses("report", full, "--format", "json", "--out", full / place)
    assert "whose own files a page must not replace" in said
    assert {path: path.read_bytes() for path in full.parent.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("place", ["report.json", "../page.json"])
def test_a_page_may_stand_beside_them(audit, full, place):
    for _ in range(2):
        assert audit("report", full, "--format", "md", "--out", full / place).code == 0
    assert (full / place).is_file()
