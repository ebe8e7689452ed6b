"""Every decision method, found by its file: `analysis/decisions/<id>.py`."""

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from typing import Protocol

import analysis.decisions
from analysis.errors import AuditError
from analysis.paired.interval import Interval, Method
from analysis.paired.sample import PairedSample


class IntervalFunction(Protocol):
    """The one function that every decision method has."""

    def __call__(self, sample: PairedSample, *, alpha: float, margin: float = 0.0, seed: int | None = None) -> Interval:
        """Return the interval; see `analysis.paired.interval.Interval`."""


@dataclass(frozen=True)
class DecisionMethod:
    """A decision method: its id, what it promises, and its interval."""

    id: str
    info: Method
    interval: IntervalFunction


def method_ids() -> tuple[str, ...]:
    """Return the ids of all decision methods, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(analysis.decisions.__path__)))


def proven_method_for(sample: PairedSample) -> DecisionMethod:
    """Return the method whose proven interval stands beside that of an asymptotic one on this sample.

    Args:
        sample: the paired differences.

    Returns:
        The exact unconditional interval for right/wrong scores, else Hoeffding's, which needs no seed.
    """
    return load_method("paired_hoeffding" if sample.counts is None else "paired_exact_unconditional")


def load_method(method_id: str) -> DecisionMethod:
    """Return the decision method with this id.

    Raises:
        AuditError: there is no such method; the message names the nearest one.
    """
    known = method_ids()
    if method_id not in known:
        near = difflib.get_close_matches(method_id, known, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
        raise AuditError(f'there is no decision method "{method_id}"{hint}')
    module = importlib.import_module(f"analysis.decisions.{method_id}")
    return DecisionMethod(method_id, module.METHOD, module.interval)
