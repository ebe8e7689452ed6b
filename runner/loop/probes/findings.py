"""Comparisons as a preflight's result holds them."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from analysis.losses.agreement import Agreement, Tolerance, compare
from audits.store.preflights import Comparison
from audits.store.status import Status

Where = Callable[[int], Mapping[str, Any]]
"""From the index of a compared number to what stands there."""

NOT_EXECUTED = "re-implemented, not executed"


@dataclass(frozen=True)
class Subject:
    """What is compared: the path that a reader is told, the reference, and what the numbers mean.

    Attributes:
        path: loss or state, data, reference.
        reference: where the reference comes from, and whether it was executed.
        where: names a compared number; None where one number is the sum over tokens.
        measures: in words.
    """

    path: str
    reference: str
    where: Where | None
    measures: str


def agreement(
    subject: Subject, metric: str, ours: ArrayLike, reference: ArrayLike, tolerance: Tolerance, noise: float = 0.0
) -> Comparison:
    """Return the comparison of two arrays at a tolerance.

    A measurement that is noisier than the tolerance cannot pass: where it is within tolerance and noise it is `warn`.

    Args:
        subject: what is compared.
        metric: loss, gradient, logprob, …
        ours: what is tested, shape (n,).
        reference: what it should be, shape (n,).
        tolerance: the plan's.
        noise: how far the service's own numbers differ from call to call, in the unit of the numbers.
    """
    found = compare(ours, reference, tolerance, noise)
    noisy = noise > tolerance.atol
    status: Status = "inconclusive" if not found.n else "fail" if not found.agrees else "warn" if noisy else "pass"
    return Comparison(
        path=subject.path,
        metric=metric,
        status=status,
        value=finite(found.ours),
        expected=finite(found.reference),
        largest_deviation=finite(found.deviation),
        limit={"max": found.allowance} if found.n else None,
        tolerance={"atol": tolerance.atol, "rtol": tolerance.rtol} | ({"noise": noise} if noise else {}),
        where={"index": found.index, **subject.where(found.index)} if found.n and subject.where else None,
        reference=subject.reference,
        n=found.n,
        reason=_reason(subject, found, noise if noisy else 0.0),
        measures=subject.measures,
    )


def direction(subject: Subject, metric: str, ours: ArrayLike, reference: ArrayLike, min_cosine: float) -> Comparison:
    """Return the comparison of two vectors' directions."""
    found = compare(ours, reference, Tolerance(math.inf, 0.0))
    agrees = found.cosine >= min_cosine
    said = "one of the two vectors is zero or not finite" if math.isnan(found.cosine) else f"cosine {found.cosine:.6f}"
    return Comparison(
        path=subject.path,
        metric=metric,
        status="pass" if agrees else "fail",
        value=finite(found.cosine),
        limit={"min": min_cosine},
        tolerance={"min_cosine": min_cosine},
        reference=subject.reference,
        n=found.n,
        reason=None if agrees else f"{said}, at least {min_cosine:g} is wanted",
        measures=subject.measures,
    )


def open_question(
    path: str, metric: str, reason: str, *, reference: str = "", status: Status = "inconclusive"
) -> Comparison:
    """Return a comparison that could not be made, with the reason."""
    return Comparison(path=path, metric=metric, status=status, reason=reason, reference=reference)


def in_words(where: Mapping[str, Any]) -> str:
    """Return a place as text: `token 12: rollout 3, position 5, …`."""
    named = ", ".join(f"{key} {value}" for key, value in where.items() if key != "index")
    return f"token {where['index']}" + (f" ({named})" if named else "")


def finite(value: float) -> float | None:
    """Return the number, None where JSON has none for it."""
    return float(value) if math.isfinite(value) else None


def worst(comparisons: Iterable[Comparison]) -> Comparison | None:
    """Return the failed comparison with the largest deviation in units of its allowance, None where none failed."""
    failed = [item for item in comparisons if item.status == "fail" and item.largest_deviation is not None]
    return max(failed, key=_excess, default=None)


def _excess(item: Comparison) -> float:
    allowed = (item.limit or {}).get("max") or math.inf
    return (item.largest_deviation or 0.0) / allowed


def _reason(subject: Subject, found: Agreement, noise: float) -> str | None:
    if not found.n:
        return "nothing was compared"
    if found.agrees:
        return f"only as sharp as the service's own noise, {noise:.2g}" if noise else None
    place = in_words({"index": found.index, **subject.where(found.index)}) if subject.where else "the sum over tokens"
    return (
        f"off by {found.deviation:.4g} at {place}: {found.ours:.6g}, where the reference has {found.reference:.6g}; "
        f"allowed is {found.allowance:.3g}"
    )
