"""What a decision costs, beside other packages: `make bench`.

CPU time of one thread, the median of several repeats. A shared machine is noisy, so that a target is only printed as
met or not met and the exit code is always 0.
"""

import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.paired.methods import load_method
from analysis.paired.sample import PairedCounts, PairedSample, sample_from_counts

AUDIT = Path(sysconfig.get_path("scripts")) / "audit"
GSM8K = (132, 174, 1319)
LARGE = (8000, 7700, 20_000)
RESAMPLES = 10_000


@dataclass(frozen=True)
class Line:
    """One measurement: CPU milliseconds, and what they are compared with."""

    name: str
    milliseconds: float
    target: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        verdict = "" if self.met is None else f"  target {self.target}: {'met' if self.met else 'not met'}"
        return f"{self.name:<66} {self.milliseconds:>10.2f} ms{verdict}"


def cpu_milliseconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median CPU time of one call, warm."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(1e3 * (time.process_time() - start))
    return statistics.median(taken)


def sample_of(gains: int, losses: int, n_items: int) -> PairedSample:
    """Return a table as a sample, half of the other items right in both arms."""
    agreed = n_items - gains - losses
    return sample_from_counts(PairedCounts(agreed // 2, gains, losses, agreed - agreed // 2))


def exact_interval(table: tuple[int, int, int], limit: float, repeats: int) -> Line:
    """Time the exact unconditional interval of one table."""
    sample, method = sample_of(*table), load_method("paired_exact_unconditional")
    taken = cpu_milliseconds(lambda: method.interval(sample, alpha=0.05), repeats)
    name = f"paired_exact_unconditional at n={table[2]} ({table[0]}, {table[1]})"
    return Line(name, taken, f"below {limit:g} ms", taken < limit)


def bootstrap(table: tuple[int, int, int], resamples: int, ratio: float, repeats: int) -> list[Line]:
    """Time the exact bootstrap law beside scipy's resampling of both arms."""
    from scipy import stats

    sample, method = sample_of(*table), load_method("paired_bootstrap")
    treatment, baseline = arms(table)

    def resample() -> object:
        return stats.bootstrap(
            (treatment, baseline),
            lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
            paired=True, vectorized=True, n_resamples=resamples, batch=1000, method="percentile",
            rng=np.random.default_rng(1),
        )  # fmt: skip

    ours = cpu_milliseconds(lambda: method.interval(sample, alpha=0.05), repeats)
    theirs = cpu_milliseconds(resample, max(1, repeats // 3))
    times = theirs / ours
    return [
        Line(f"scipy.stats.bootstrap, paired percentile, {resamples:,} resamples", theirs),
        Line(f"paired_bootstrap, exact law: {times:.0f} times faster", ours, f"{ratio:g} times", times >= ratio),
    ]


def arms(table: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the right/wrong scores of both arms."""
    gains, losses, n_items = table
    both = (n_items - gains - losses) // 2
    treatment, baseline = np.zeros(n_items), np.zeros(n_items)
    treatment[: gains + both] = 1.0
    baseline[gains : gains + both + losses] = 1.0
    return treatment, baseline


def evalstats_compare(table: tuple[int, int, int], repeats: int) -> list[Line]:
    """Time evalstats on the same items; its interval is asymptotic. Nothing where it is not installed."""
    try:
        import evalstats
    except ImportError:
        return []
    scores = dict(zip(("treatment", "baseline"), arms(table), strict=True))
    rows = [
        {"model": arm, "item": f"i{number}", "score": float(score)}
        for arm, column in scores.items()
        for number, score in enumerate(column)
    ]
    data = evalstats.load_from(rows)
    taken = cpu_milliseconds(lambda: evalstats.compare(data, factors="model"), repeats)
    return [Line(f"evalstats compare() at n={table[2]} (Bonett-Price, asymptotic)", taken)]


def whole_process(n_items: int, limit: float, repeats: int) -> Line:
    """Time `audit decide` from start to exit, imports and run directory included."""
    treatment, baseline = arms((n_items // 10, n_items // 8, n_items))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "outcomes.csv"
        lines = [
            f"item-{number},{a:.0f},{b:.0f}" for number, (a, b) in enumerate(zip(treatment, baseline, strict=True))
        ]
        table.write_text("\n".join(["item_id,a,b", *lines]) + "\n", encoding="utf-8")
        arguments = ["outcomes", str(table), "--arm", "treatment=a", "--arm", "baseline=b", "--out", f"{folder}/run"]
        subprocess.run([str(AUDIT), "import", *arguments], check=True, capture_output=True)
        decide = [str(AUDIT), "decide", f"{folder}/run", "--method", "paired_exact_unconditional", "--exit-zero"]
        taken = []
        for _ in range(repeats + 1):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(decide, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    # The first one fills the disk cache.
    median = statistics.median(taken[1:])
    return Line(f"audit decide, whole process, {n_items} items", median, f"below {limit:g} ms", median < limit)


def main(*, scale: float = 1.0, repeats: int = 9) -> list[Line]:
    """Print and return all measurements.

    Args:
        scale: share of the items and resamples, for a quick try.
        repeats: of each measurement.
    """

    def small(table: tuple[int, int, int]) -> tuple[int, int, int]:
        gains, losses, n_items = (max(1, round(scale * count)) for count in table)
        return gains, losses, n_items

    lines = [
        exact_interval(small(GSM8K), 40.0, repeats),
        exact_interval(small(LARGE), 250.0, repeats),
        *bootstrap(small(GSM8K), max(10, round(scale * RESAMPLES)), 100.0, repeats),
        *evalstats_compare(small(GSM8K), repeats),
        whole_process(small(GSM8K)[2], 1200.0, min(repeats, 5)),
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return lines


if __name__ == "__main__":
    # One thread, or the CPU time of idle workers would count.
    if os.environ.get("OMP_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, __file__], {**os.environ, "OMP_NUM_THREADS": "1"})
    main()
