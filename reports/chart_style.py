"""What all charts share: colours and type of the page, and how data enter a specification.

Colours are `currentColor` and CSS variables of the page, so one drawing follows light, dark and print.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

# The page's Okabe-Ito colours (templates/page.css): each has a light and a dark value.
SERIES_COLOURS = tuple(f"var(--c{index})" for index in range(1, 7))
FONT = "system-ui, sans-serif"

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domainColor": "currentColor",
        "domainOpacity": 0.4,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "labelColor": "currentColor",
        "labelFontSize": 11,
        "tickColor": "currentColor",
        "tickOpacity": 0.4,
        "titleColor": "currentColor",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        # The page's own font may be wider than the one that places were measured with.
        "titlePadding": 9,
    },
    "legend": {
        "labelColor": "currentColor",
        "labelFontSize": 11,
        "labelLimit": 160,
        "orient": "bottom",
        "symbolStrokeWidth": 2,
        "titleColor": "currentColor",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    },
}


def finished(drawn: dict[str, Any]) -> dict[str, Any]:
    """Return a specification with the page's style, ready for `reports.vega`, which sets its width."""
    return {**drawn, "config": CONFIG, "autosize": {"type": "fit-x", "contains": "padding"}}


def body(drawn: "alt.TopLevelMixin") -> dict[str, Any]:
    """Return the specification of a chart as an object."""
    # Altair would check each chart against its schema, which is a quarter of the page's time; a test does it instead.
    found: dict[str, Any] = drawn.to_dict(validate=False)
    return found


def data(rows: list[dict[str, Any]]) -> "alt.InlineData":
    """Return rows as data that stand in the specification."""
    import altair as alt

    return alt.InlineData(values=rows)


def drawable(value: float) -> float | None:
    """Return a value as it stands in a specification: None where it is no number."""
    return value if math.isfinite(value) else None


def colours(series: Iterable[str], order: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the series that are drawn and the colour of each.

    Args:
        series: names, in the order of the chart.
        order: all names of the page; the place of a name is its colour, so that it is the same in every chart.
    """
    names = list(dict.fromkeys(series))
    places = {name: place for place, name in enumerate(dict.fromkeys([*order, *names]))}
    names.sort(key=places.__getitem__)
    return names, [SERIES_COLOURS[places[name] % len(SERIES_COLOURS)] for name in names]
