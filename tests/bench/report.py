"""Measures `audit report` from start to exit, the processes that it starts among it: CPU, wall time and size.

    PYTHONPATH=tests python tests/bench/report.py [--items 1319] [--steps 50]

The first page on a machine puts the Vega script together; later ones find it in the cache.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.gate import report, target, whole_process
from large_run import write_large_run

WALL_LIMIT = 6.0
SIZE_LIMIT = 1_500_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what a page costs without and with the cached script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1319)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        run = write_large_run(Path(folder), options.items, options.steps)
        page = Path(folder) / "report.html"
        os.environ["RUNAUDIT_CACHE"] = str(Path(folder) / "cache")
        command = [sys.executable, "-m", "runner.cli.main", "report", str(run), "--out", str(page)]
        first = whole_process(command, 1)
        later = whole_process(command)
        size = page.stat().st_size
    title = f"report, {options.items:,} items × {options.steps} steps × 2 arms"
    report(title + ", first", first)
    report(
        title, later, f"{size / 1e6:.2f} MB", target(f"{WALL_LIMIT:g} s on two idle cores", later.wall < WALL_LIMIT),
        target(f"{SIZE_LIMIT / 1e6:g} MB", size < SIZE_LIMIT),
    )  # fmt: skip


if __name__ == "__main__":
    main()
