"""The sampler's probability of each sampled token against the policy's, in bins."""

from dataclasses import dataclass
from typing import Any

from audits.store.reader import Run, connect

_COLUMNS = 'arm, "update", lower, upper, loss_tokens, p_sampler, p_current'


@dataclass(frozen=True)
class CalibrationBin:
    """Loss tokens whose p_sampler lies in [lower, upper); the last bin includes 1.

    Attributes:
        loss_tokens: how many.
        p_sampler: their mean probability under the behaviour policy.
        p_current: their mean probability under the policy in the update's forward pass.
    """

    lower: float
    upper: float
    loss_tokens: int
    p_sampler: float
    p_current: float

    @property
    def gap(self) -> float:
        """Mean p_current minus mean p_sampler."""
        return self.p_current - self.p_sampler


@dataclass(frozen=True)
class Calibration:
    """One minibatch update of an arm, over all its seeds and steps.

    Attributes:
        bins: those that hold a token, rising; empty where a row is no number.
        invalid: rows with a number that is NaN or infinite, or a probability above 1.
    """

    arm: str
    update: int
    bins: tuple[CalibrationBin, ...]
    invalid: int


def calibration(run: Run) -> tuple[Calibration, ...]:
    """Return the first and the last minibatch update of every arm, sorted; empty without a token log.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not run.has("tokens"):
        return ()
    with connect(run) as connection:
        rows = connection.execute(f"SELECT {_COLUMNS} FROM sampler_calibration ORDER BY ALL NULLS FIRST").fetchall()
    updates: dict[str, list[int]] = {}
    for arm, update, *_ in rows:
        updates.setdefault(arm, []).append(update)
    ends = sorted({(arm, end(found)) for arm, found in updates.items() for end in (min, max)})
    return tuple(_one(arm, update, [row[2:] for row in rows if row[:2] == (arm, update)]) for arm, update in ends)


def _one(arm: str, update: int, rows: list[tuple[Any, ...]]) -> Calibration:
    invalid = sum(tokens for lower, _, tokens, *_ in rows if lower is None)
    bins = [CalibrationBin(*row) for row in rows if row[0] is not None]
    return Calibration(arm, update, () if invalid else tuple(bins), invalid)
