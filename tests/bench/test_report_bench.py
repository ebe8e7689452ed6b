"""The bench of the report itself: it runs, and measures a page that is whole."""

import pytest

pytest.importorskip("resource")  # CPU time, which Windows does not keep
from bench import report


@pytest.mark.slow
def test_both_pages_are_measured(capsys, monkeypatch):
    monkeypatch.delenv("RUNAUDIT_CACHE", raising=False)
    report.main(["--items", "30", "--steps", "2"])
    first, later = capsys.readouterr().out.splitlines()
    assert first.startswith("report, 30 items × 2 steps × 2 arms, first")
    assert " MB  target 6 s on two idle cores: " in later
    assert later.endswith("target 1.5 MB: met")
