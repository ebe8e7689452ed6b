"""`sweep.json`: the table that `audit sweep` writes, and its copy in a run whose learning rate it chose."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.errors import AuditError
from audits.store.durable import read_whole
from audits.store.seal import SealedPlan, sha256_hex

SWEEP_NAME = "sweep.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ArmResult(_Part):
    """One arm at one rate; `score` is None where it is no number."""

    condition: str
    seed: int
    items: int
    score: float | None


class RateResult(_Part):
    """One rate of the grid; `gate` is the status of the activation gate on its pilot."""

    learning_rate: float
    gate: str
    arms: tuple[ArmResult, ...]


class Chosen(_Part):
    """The rate that the sweep's rule chose, None where it chose none."""

    learning_rate: float | None


class SweepTable(_Part):
    """What readers of a sweep need; the file holds more (intervals, the rule in words)."""

    plan_sha256: str
    split: str
    rates: tuple[RateResult, ...]
    chosen: Chosen

    def is_of(self, sealed: SealedPlan) -> bool:
        """Return whether the sweep tried this plan's grid, or that of the plan which this one replaces."""
        return self.plan_sha256 in (sealed.sha256, sealed.plan.supersedes)


def sweep_text(folder: Path) -> str | None:
    """Return the text of the table in a sweep's folder or a run directory, None where there is none.

    Raises:
        AuditError: it is not readable.
    """
    path = folder / SWEEP_NAME
    try:
        return read_whole(path)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _no_table(path, error) from error


def sweep_table(folder: Path, text: str) -> SweepTable:
    """Return the table that a text from this folder holds.

    Raises:
        AuditError: it holds none.
    """
    try:
        return SweepTable.model_validate_json(text)
    except ValidationError as error:
        raise _no_table(folder / SWEEP_NAME, error) from error


def sweep_sha256(text: str) -> str:
    """Return the digest under which `run.json` knows the table."""
    return sha256_hex(text.encode("utf-8"))


def _no_table(path: Path, error: Exception) -> AuditError:
    said = str(error).splitlines()[0]
    return AuditError(f"{path}: is not the table of a sweep ({said:.200}). Copy it again, or remove it")
