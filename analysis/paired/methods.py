"""Every decision method, found by its file: `<id>.py` in the folder of the unit that it generalises over."""

import importlib
import pkgutil
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, Protocol

import analysis.decisions
import analysis.seed_decisions
from analysis.errors import AuditError
from analysis.nearest import hint
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample

Unit = Literal["fixed_checkpoint_items", "training_seeds"]

_FOLDERS: dict[Unit, ModuleType] = {
    "fixed_checkpoint_items": analysis.decisions,
    "training_seeds": analysis.seed_decisions,
}


class IntervalFunction(Protocol):
    """The one function that every decision method has."""

    def __call__(self, sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
        """Return the interval; see `analysis.paired.interval.Interval`."""


@dataclass(frozen=True)
class DecisionMethod:
    """A decision method: its id, what it promises, its interval, and the unit that it generalises over."""

    id: str
    info: Method
    interval: IntervalFunction
    unit: Unit = "fixed_checkpoint_items"


def method_ids(unit: Unit = "fixed_checkpoint_items") -> tuple[str, ...]:
    """Return the ids of all decision methods for a unit, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(_FOLDERS[unit].__path__)))


def proven_method_for(sample: PairedSample) -> DecisionMethod:
    """Return the method whose proven interval stands beside that of an asymptotic one on this sample.

    Args:
        sample: the paired differences.

    Returns:
        For training seeds Hoeffding's on their means; for fixed checkpoints the exact unconditional interval for
        right/wrong scores, else Hoeffding's. None of them needs a seed.
    """
    if sample.by_seed is not None:
        return load_method("seed_level_hoeffding")
    return load_method("paired_hoeffding" if sample.counts is None else "paired_exact_unconditional")


def load_method(method_id: str) -> DecisionMethod:
    """Return the decision method with this id.

    Raises:
        AuditError: there is no such method; the message names the nearest one.
    """
    for unit, folder in _FOLDERS.items():
        if method_id in method_ids(unit):
            module = importlib.import_module(f"{folder.__name__}.{method_id}")
            return DecisionMethod(method_id, module.METHOD, module.interval, unit)
    known = [known_id for unit in _FOLDERS for known_id in method_ids(unit)]
    raise AuditError(f'there is no decision method "{method_id}"{hint(method_id, known)}')
