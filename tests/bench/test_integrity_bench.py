"""The bench of the integrity audits itself: it runs, and its labels agree with its answers."""

import pytest

pytest.importorskip("resource")  # CPU time, which Windows does not keep
from bench import integrity


def test_the_labels_of_the_bench_agree_with_its_answers(capsys):
    integrity.main(["--completions", "60"])
    printed = capsys.readouterr().out
    assert "pass           answer_extraction  60 rows" in printed
    assert "60 completions:" in printed
