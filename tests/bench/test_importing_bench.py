"""Memory of an import does not grow with its source."""

import json

import pytest

pytest.importorskip("resource")  # peak memory, which Windows does not keep
from bench.importing import import_measured, main, write_outcomes


def test_the_bench_writes_imports_and_judges(capsys):
    assert main(["--megabytes", "1", "--questions"]) == 0
    assert "1 MB of JSON lines" in capsys.readouterr().out


@pytest.mark.slow
def test_a_hundred_megabytes_more_cost_no_memory_that_reading_them_whole_would(tmp_path):
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    # Both beyond what is gathered in memory.
    write_outcomes(small, 100 * 10**6)
    write_outcomes(large, 200 * 10**6)
    _, before = import_measured(small, tmp_path / "a")
    _, after = import_measured(large, tmp_path / "b")
    # The text alone is 95 MiB more, and as Python values it is twice that.
    assert after - before < 60
    assert after < 500
    lines = (tmp_path / "b" / "files.jsonl").read_text().splitlines()
    rows = {record["path"]: record["rows"] for record in map(json.loads, lines)}
    assert len(set(rows.values())) == 1
