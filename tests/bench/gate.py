"""What the gate and the drift cost on token logs of a pilot, a run and a sweep: `make bench`.

CPU seconds of the engine are compared with reading the two log-probability columns and nothing else, with one query a
metric, and, as whole processes, with pandas as a user would write it. A shared machine is noisy: a target is only
printed as met or not met, and the exit code is always 0.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.made_log import ROWS_A_STEP, write_log

PANDAS = Path(__file__).parent / "pandas_drift.py"
SIZES = {"15M": ((0,), 50), "100M": ((0, 1, 2), 109), "230M": ((0, 1, 2, 3, 4), 150)}
"""Training seeds and steps of each of the two arms; a step has 153,600 rows."""
MEMORY_LIMIT = 400e6
SCAN_TIMES = 8.0
SWEEP_SECONDS = 30.0
PANDAS_TIMES = 8.0


@dataclass(frozen=True)
class Cost:
    """CPU and wall seconds, and peak resident bytes of the process."""

    cpu: float
    wall: float
    peak: float

    def __str__(self) -> str:
        return f"cpu {self.cpu:>7.2f} s  wall {self.wall:>7.2f} s  peak {self.peak / 1e6:>6.0f} MB"


def cpu_seconds() -> float:
    """Return user and system seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_bytes() -> float:
    """Return the largest resident set of this process so far (kilobytes on Linux, bytes on macOS)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def measured(work: Callable[[], object], repeats: int) -> Cost:
    """Return the smallest CPU and wall time of some calls, and the peak after them."""
    costs = []
    for _ in range(repeats):
        cpu, wall = cpu_seconds(), time.perf_counter()
        work()
        costs.append((cpu_seconds() - cpu, time.perf_counter() - wall))
    return Cost(min(cost[0] for cost in costs), min(cost[1] for cost in costs), peak_bytes())


def inside(name: str, run: Path, repeats: int) -> Cost:
    """Measure one job in a process of its own, so that no other job's memory counts."""
    command = [sys.executable, __file__, "--job", name, "--run", str(run), "--repeats", str(repeats)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return Cost(**json.loads(found.stdout.splitlines()[-1]))


def job(name: str, run: Path, repeats: int) -> Cost:
    """Run one job here: the imports are made before the clock starts."""
    import pyarrow.dataset  # noqa: F401

    from audits.engine.drift import drift_by_step
    from audits.engine.executors import Engine, Scan, local
    from audits.engine.gate import evaluate_gate, loss_parameters
    from audits.engine.measure import measure, measure_all
    from audits.engine.metric import load_metric, metric_ids
    from audits.engine.request import Request
    from audits.store.reader import open_run
    from audits.store.scan import Batch

    opened = open_run(run)
    assert opened.sealed is not None
    plan = opened.sealed.plan
    ids = [name.replace("NN", "90") for name in metric_ids()]
    metrics = [load_metric(metric_id) for metric_id in ids]
    requests = [
        Request(metric, loss_parameters(plan), "dppo", 1, profile_only=True)
        for metric in metrics
        if metric.source == "loss_tokens"
    ]

    def scan_limit() -> None:
        batch = Batch(run, "tokens", opened.records("tokens"))
        sql = "SELECT sum(sampler_logprob), sum(current_logprob) FROM tokens"
        list(local.run_scans([Scan(batch, sql)], None))

    jobs: dict[str, Callable[[], object]] = {
        "scan": scan_limit,
        "gate": lambda: evaluate_gate(opened, plan),
        "drift": lambda: drift_by_step(opened, plan),
        "fused": lambda: measure_all(opened, requests, Engine()),
        "separate": lambda: [measure(opened, request) for request in requests],
    }
    return measured(jobs[name], repeats)


def whole_process(command: list[str], repeats: int = 3) -> Cost:
    """Return the quickest of some runs of a command, from start to exit, with the processes that it waited for."""
    best = None
    for _ in range(repeats):
        before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # The largest child so far: the command's own peak where it is the largest, else an upper bound of it.
        peak = after.ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
        cost = Cost(cpu, time.perf_counter() - wall, peak)
        best = cost if best is None or cost.wall < best.wall else best
    assert best is not None
    return best


def say(line: str) -> None:
    """Write one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report(name: str, cost: Cost, *notes: str) -> None:
    """Print one line."""
    say("  ".join([f"{name:<44}", str(cost), *notes]))


def target(words: str, met: bool) -> str:
    """Return a target and whether it was met."""
    return f"target {words}: {'met' if met else 'not met'}"


def compare(run: Path, rows: int, size: str, repeats: int) -> None:
    """Print the costs on one log."""
    say(f"\n{rows / 1e6:.1f} M token rows ({size})")
    scan = inside("scan", run, repeats)
    report("scan of the two log-probability columns", scan)
    gate = inside("gate", run, repeats)
    times = gate.cpu / scan.cpu
    report(
        "audit gate, everything after the imports", gate, f"{times:.1f} times the scan",
        target(f"{SCAN_TIMES:g} times", times <= SCAN_TIMES),
        target(f"{MEMORY_LIMIT / 1e6:.0f} MB", gate.peak < MEMORY_LIMIT),
    )  # fmt: skip
    if size == "230M":
        say(f"{'':<44}  {target(f'{SWEEP_SECONDS:g} s wall', gate.wall < SWEEP_SECONDS)}")
        return
    drift = inside("drift", run, 1)
    report("audit drift, every update of both arms", drift, f"{drift.cpu / scan.cpu:.1f} times the scan")
    if size != "15M":
        return
    fused, separate = inside("fused", run, repeats), inside("separate", run, 1)
    report("every token metric of one arm, one pass", fused)
    report("the same, one query a metric", separate, f"{separate.cpu / fused.cpu:.1f} times the CPU of one pass")
    try:
        import pandas  # noqa: F401
    except ImportError:
        say("pandas is not installed: pip install pandas, to compare with it")
        return
    audit = whole_process([sys.executable, "-m", "runner.cli.main", "drift", str(run), "--format", "json"])
    theirs = whole_process([sys.executable, str(PANDAS), str(run)])
    report("audit drift, whole process", audit)
    ratio = theirs.wall / audit.wall
    met = target(f"{PANDAS_TIMES:g} times", ratio >= PANDAS_TIMES)
    report("the same figures in pandas, whole process", theirs, f"audit is {ratio:.1f} times faster", met)


def main() -> None:
    """Make the logs that were asked for, measure, and remove them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", nargs="*", default=["15M"], choices=list(SIZES), help="15M, 100M (0.7 GB), 230M (1.5 GB)"
    )
    parser.add_argument("--keep", type=Path, help="make the logs here and leave them for the next time")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        say(json.dumps(vars(job(asked.job, asked.run, asked.repeats))))
        return
    with tempfile.TemporaryDirectory(prefix="runaudit-bench-") as scratch:
        for size in asked.sizes:
            seeds, steps = SIZES[size]
            run = (asked.keep or Path(scratch)) / size
            if not run.exists():
                write_log(run, seeds=seeds, steps=steps)
            compare(run, 2 * len(seeds) * steps * ROWS_A_STEP, size, asked.repeats)


if __name__ == "__main__":
    main()
