"""When each phase of a run began and how long it took."""

from dataclasses import dataclass
from datetime import datetime

from audits.store.location import parquet_file
from audits.store.reader import Run


@dataclass(frozen=True)
class PhaseTime:
    """One phase as the run logged it.

    Attributes:
        arm: the arm's folder name.
        seed: its seed.
        step: the rollout step; -1 for what belongs to no step.
        phase: sample, train, eval, checkpoint, …
        started_at: UTC.
        seconds: wall time.
    """

    arm: str
    seed: int
    step: int
    phase: str
    started_at: datetime
    seconds: float


def phase_times(run: Run) -> tuple[PhaseTime, ...]:
    """Return every phase of a run that was logged with its time, by arm, seed and time; empty where none was.

    Raises:
        OSError: a listed file is missing.
    """
    found = []
    for (arm, seed), records in run.partitions("phases").items():
        for record in records:
            with parquet_file(run.path / record.path) as parquet:
                if "started_at" not in parquet.schema_arrow.names:
                    continue
                rows = parquet.read(["step", "phase", "started_at", "seconds"]).to_pylist()
            found += [PhaseTime(arm, seed, **row) for row in rows]
    return tuple(sorted(found, key=lambda phase: (phase.arm, phase.seed, phase.started_at)))
