"""Measures `audit integrity` on a run with many completions: wall time, CPU time and peak memory.

    PYTHONPATH=tests python tests/bench/integrity.py [--completions 100000]

Each completion is about 400 characters of GSM8K-like work, none of them twice, with a marked line, a box or neither.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from made_run import evals, write_outcomes

_LINE = "{2} sells {0} eggs at $2 each, which is 2 * {0} = $<<2*{0}={1}>>{1}, and 1,234 of them stay for the week.\n"


def solutions(n: int, name: str) -> dict[str, list[object]]:
    """Return evaluation columns of n different completions with their labels; two in three are right.

    Args:
        n: how many.
        name: of whom they tell, so that no arm has another's.
    """
    golds = [str(2 * (number + 3)) for number in range(n)]
    endings = ["#### {}", r"So the answer is \boxed{{{}}}.", "A: {}"]
    texts = [
        "".join(_LINE.format(number + step, 2 * (number + step), name) for step in range(4))
        + endings[number % 3].format(2 * (number + 3) + (number % 3 == 1))
        for number in range(n)
    ]
    right = [number % 3 != 1 for number in range(n)]
    columns = evals([float(label) for label in right], correct=right, completion=texts, gold=golds, n_tokens=120)
    return columns | {"item_id": [f"item-{number}" for number in range(n)], "stop_reason": ["stop"] * n}


def write_completions(path: Path, n: int) -> Path:
    """Write imported outcomes with n completions in two arms."""
    arms = {"treatment": [solutions(n // 2, "Janet")], "baseline": [solutions(n // 2, "Kylar")]}
    return write_outcomes(path, arms)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what `audit integrity` costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--completions", type=int, default=100_000)
    n = parser.parse_args(arguments).completions
    with tempfile.TemporaryDirectory() as folder:
        run = write_completions(Path(folder) / "run", n)
        from audits.engine.integrity import integrity_report
        from audits.store.reader import open_run

        wall, cpu = time.perf_counter(), time.process_time()
        report = integrity_report(open_run(run))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    for check in report.checks:
        sys.stdout.write(f"{check.status:14} {check.id}  {check.rows_examined:,} rows\n")
    sys.stdout.write(f"{n:,} completions: {wall:.1f} s wall, {cpu:.1f} s CPU, {peak:,.0f} MiB peak\n")


if __name__ == "__main__":
    main()
