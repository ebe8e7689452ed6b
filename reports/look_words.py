"""What a recorded look asked and what it showed, in the words of a table's cell. A line of looks can be edited."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from reports.display import LABEL_LIMIT, Scale, decimals, number, signed, text

NOT_RECORDED = "not recorded"
SHOWN_CRITERIA = 8
_UNITS = {"fixed_checkpoint_items": "", "training_seeds": " over training seeds"}


def asked(look: Mapping[str, Any]) -> str:
    """Return the difference that a look asked for with margin, floor and band, of each criterion."""
    return _each(look, _question)


def interval(look: Mapping[str, Any]) -> str:
    """Return the estimate and interval that a look showed, of each criterion."""
    return _each(look, _shown)


def _each(look: Mapping[str, Any], words: Callable[[Mapping[str, Any], str], str]) -> str:
    criteria = look.get("criteria")
    if not isinstance(criteria, list) or not criteria:
        return NOT_RECORDED
    unit = _UNITS.get(str(look.get("unit")), f", unit {text(str(look.get('unit')), LABEL_LIMIT)}")
    cells = []
    for criterion in criteria[:SHOWN_CRITERIA]:
        if not isinstance(criterion, Mapping):
            return NOT_RECORDED
        named = f"{text(str(criterion.get('id')), LABEL_LIMIT)}: " if len(criteria) > 1 else ""
        cells.append(named + words(criterion, unit))
    left_out = len(criteria) - len(cells)
    return "; ".join(cells) + (f"; and {left_out} more" if left_out else "")


def _question(criterion: Mapping[str, Any], unit: str) -> str:
    weights = criterion.get("weights")
    if not isinstance(weights, Mapping) or not weights:
        return NOT_RECORDED
    terms = ", ".join(f"{text(role, 30)} {_weight(value)}" for role, value in list(weights.items())[:SHOWN_CRITERIA])
    limits = {name: criterion.get(name) for name in ("margin", "floor", "band")}
    stated = ", ".join(
        f"{name} {'none' if name == 'band' and value is None else _amount(value, criterion)}"
        for name, value in limits.items()
    )
    return f"{terms}{unit}; {stated}"


def _shown(criterion: Mapping[str, Any], _unit: str) -> str:
    estimate, lower, upper = (criterion.get(name) for name in ("estimate", "lower", "upper"))
    if estimate is None and lower is None and upper is None:
        return "no interval" if "estimate" in criterion else NOT_RECORDED
    places = decimals(scaled for value in (estimate, lower, upper) if (scaled := _scaled(value, criterion)) is not None)
    middle, low, high = (_amount(value, criterion, places, unit=False) for value in (estimate, lower, upper))
    return f"{middle} [{low}, {high}] {_scale(criterion).unit}"


def _scale(criterion: Mapping[str, Any]) -> Scale:
    bounds = criterion.get("bounds")
    return Scale.of(tuple(bounds) if isinstance(bounds, list) else ())


def _scaled(value: object, criterion: Mapping[str, Any]) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15 or math.isnan(value):
        return None
    return _scale(criterion).apply(float(value))


def _amount(value: object, criterion: Mapping[str, Any], places: int | None = None, *, unit: bool = True) -> str:
    scaled = _scaled(value, criterion)
    if scaled is None:
        return NOT_RECORDED
    shown = signed(scaled, decimals([scaled]) if places is None else places)
    return f"{shown} {_scale(criterion).unit}" if unit else shown


def _weight(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        return NOT_RECORDED
    return f"+{number(value)}" if value > 0 else number(value)
