"""Measures `audit import` of JSON lines: the rate, and peak memory, which must not grow with the file.

    python tests/bench/importing.py [--megabytes 1000] [--questions]

The file is written line by line into a temporary directory that is removed afterwards: two arms of outcomes, each with
a completion of about 800 characters. The import runs in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_MEGABYTES_OF_MEMORY = 500

_LINE = "{2} sells {0} eggs at $2 each, which is 2 * {0} = $<<2*{0}={1}>>{1}, and 1,234 of them stay for the week.\n"
_ARMS = ("base", "trained")
_COMMAND = """
import resource, sys
from pathlib import Path
from runner.cli.main import main
sys.argv = ["audit", *sys.argv[1:]]
try:
    main()
finally:
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage tells of a process begins with the memory of the one that started it.
        peak = int(status.read_text().split("VmHWM:")[1].split()[0]) // 1024
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20)
    print("PEAK", peak, file=sys.stderr)
"""


def outcomes(questions: bool) -> Iterator[dict[str, object]]:
    """Yield outcomes without end, an item's of both arms after one another.

    Args:
        questions: whether each has its question, which makes a prompt of each item.
    """
    number = 0
    while True:
        question = {"question": f"How much for {number} eggs at $2 each?"} if questions else {}
        for arm in _ARMS:
            text = "".join(_LINE.format(number + step, 2 * (number + step), arm) for step in range(8))
            answer = 2 * (number + (number % 3 == 1))
            right = number % 3 != 1
            graded = {"correct": right, "extracted": answer, "gold": 2 * number, "completion": f"{text}#### {answer}"}
            yield {
                "item_id": f"item-{number}",
                "arm": arm,
                "stop_reason": "stop",
                "n_tokens": 240,
                **graded,
                **question,
            }
        number += 1


def write_outcomes(path: Path, size: int, questions: bool = False) -> int:
    """Write JSON lines of at least so many bytes; returns how many rows."""
    written = rows = 0
    with path.open("w", encoding="utf-8") as out:
        for row in outcomes(questions):
            # An arm more than the other would not be paired.
            if written >= size and rows % len(_ARMS) == 0:
                return rows
            written += out.write(json.dumps(row) + "\n")
            rows += 1
    return rows


def import_measured(source: Path, run: Path) -> tuple[float, int]:
    """Import in a process of its own; returns seconds and MiB of memory at its peak.

    Raises:
        RuntimeError: the import failed.
    """
    arms = ["--arm", f"baseline={_ARMS[0]}", "--arm", f"treatment={_ARMS[1]}", "--map", "arm=arm"]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, "import", "outcomes", str(source), *arms, "--out", str(run)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    return seconds, int(done.stderr.rsplit("PEAK", 1)[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what an import costs; returns 1 where it takes more memory than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--questions", action="store_true", help="with a question a row")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "outcomes.jsonl"
        rows = write_outcomes(source, options.megabytes * 10**6, options.questions)
        megabytes = source.stat().st_size / 10**6
        seconds, peak = import_measured(source, Path(folder) / "run")
    sys.stdout.write(
        f"{megabytes:,.0f} MB of JSON lines, {rows:,} rows: {seconds:.1f} s wall, {megabytes / seconds:.1f} MB/s, "
        f"{peak:,} MiB peak (allowed: {MOST_MEGABYTES_OF_MEMORY})\n"
    )
    return int(peak > MOST_MEGABYTES_OF_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
