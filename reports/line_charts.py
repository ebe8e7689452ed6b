"""Lines over steps, and over any other quantity, as Vega-Lite specifications."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.chart_style import body, colours, data, drawable
from reports.parts import Curve, CurvePoint, Lines, Point

if TYPE_CHECKING:
    import altair as alt

DOTTED_STEPS = 16
"""Longest line whose steps are dots; of a longer one they would hide the line."""

LINES_HEIGHT = 190
CURVE_HEIGHT = 240
_DASHES = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]


def lines(chart: Lines, order: Sequence[str]) -> dict[str, Any]:
    """Return the specification of values over steps."""
    import altair as alt

    several = len({point.detail for point in chart.points}) > 1
    rows = [
        _of_series(point) | ({"detail": point.detail} if several else {}) | {"step": point.step}
        for point in chart.points
    ]
    # A line for each detail stands in the tooltip only where there are several.
    details = [alt.Tooltip("detail:N", title="line")] if several else []
    tooltip = [*details, alt.Tooltip("step:Q"), alt.Tooltip("value:Q", title=chart.y_title, format=".5g")]
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "step:Q", axis=alt.Axis(format="d", tickMinStep=1, grid=False), scale=alt.Scale(zero=False, nice=False)
        ),
        y=alt.Y("value:Q", title=chart.y_title, axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True)),
    )
    longest = Counter((point.series, point.variant, point.detail) for point in chart.points)
    dotted = min(longest.values(), default=0) < 2 or max(longest.values()) <= DOTTED_STEPS
    drawn = _series(base.encode(detail="detail:N") if several else base, chart, tooltip, order, dotted=dotted)
    return body(alt.layer(*_levels(chart.limits, [6, 4]), *drawn).properties(height=LINES_HEIGHT))


def _of_series(point: Point | CurvePoint) -> dict[str, Any]:
    variant = {"variant": point.variant} if point.variant else {}
    return {"series": point.series, "value": drawable(point.value)} | variant


def curve(chart: Curve, order: Sequence[str]) -> dict[str, Any]:
    """Return the specification of values over another quantity."""
    import altair as alt

    rows = [_of_series(point) | {"at": drawable(point.at), "counted": point.counted} for point in chart.points]
    tooltip = [
        alt.Tooltip("at:Q", title=chart.x_title, format=".4g"),
        alt.Tooltip("value:Q", title=chart.y_title, format=".4g"),
        alt.Tooltip("counted:Q", title=chart.counted_title, format=",d"),
    ]
    ends: dict[str, Any] = {} if chart.span is None else {"domain": list(chart.span)}
    across = alt.Scale(type="log", nice=False, **ends) if chart.log_x else alt.Scale(nice=False, zero=False, **ends)
    upwards = alt.Scale(type="sqrt" if chart.root_y else "linear", zero=True, **(ends if chart.diagonal else {}))
    ticks = {"values": _round_numbers(chart)} if chart.log_x else {"tickCount": 5}
    base = alt.Chart(data(rows)).encode(
        x=alt.X("at:Q", title=chart.x_title, axis=alt.Axis(format="~g", grid=False, **ticks), scale=across),
        y=alt.Y("value:Q", title=chart.y_title, axis=alt.Axis(tickCount=5, format="~g"), scale=upwards),
        order=alt.Order("at:Q"),
    )
    behind = [
        *_marks(chart.marks),
        *_levels(chart.levels, [1, 0]),
        *(_diagonal(chart.span) if chart.diagonal and chart.span else ()),
    ]
    return body(alt.layer(*behind, *_series(base, chart, tooltip, order, dotted=True)).properties(height=CURVE_HEIGHT))


def _series(
    base: "alt.Chart", chart: Lines | Curve, tooltip: "list[alt.Tooltip]", order: Sequence[str], *, dotted: bool
) -> "list[alt.Chart]":
    """Return a line for each series and variant, and its dots: a tooltip needs them where they are not to be seen."""
    import altair as alt

    names, own = colours((point.series for point in chart.points), order)
    variants = sorted({point.variant for point in chart.points})
    several = len(variants) > 1
    shown = [alt.Tooltip("series:N", title=chart.series_title)]
    shown += [alt.Tooltip("variant:N", title=chart.variant_title)] if several else []
    coloured = base.encode(
        color=alt.Color(
            "series:N",
            title=chart.series_title,
            scale=alt.Scale(domain=names, range=own),
            legend=alt.Legend() if len(names) > 1 else None,
        )
    )
    line = coloured.mark_line(strokeWidth=1.8)
    if several:
        line = line.encode(
            strokeDash=alt.StrokeDash(
                "variant:N",
                title=chart.variant_title,
                scale=alt.Scale(domain=variants, range=_DASHES[: min(len(_DASHES), len(variants))]),
            )
        )
    return [
        line,
        coloured.mark_point(filled=True, size=22, opacity=int(dotted)).encode(tooltip=[*shown, *tooltip]),
    ]


def _levels(values: Sequence[float], dash: list[int]) -> "list[alt.Chart]":
    import altair as alt

    found = [level for level in map(drawable, values) if level is not None]
    return [
        alt.Chart(data([{"y": level}])).mark_rule(color="currentColor", strokeDash=dash).encode(y=alt.Y("y:Q"))
        for level in found
    ]


def _marks(values: Sequence[float]) -> "list[alt.Chart]":
    import altair as alt

    found = [place for place in map(drawable, values) if place is not None]
    return [
        alt.Chart(data([{"x": place}])).mark_rule(color="currentColor", strokeDash=[6, 4]).encode(x=alt.X("x:Q"))
        for place in found
    ]


def _diagonal(span: tuple[float, float]) -> "list[alt.Chart]":
    import altair as alt

    ends = alt.Chart(data([{"x": end, "y": end} for end in span]))
    return [ends.mark_line(color="currentColor", strokeWidth=1, strokeDash=[2, 3]).encode(x="x:Q", y="y:Q")]


def _round_numbers(chart: Curve) -> list[float]:
    """Return the 1, 2 and 5 of each power of ten that the points reach; an axis by logarithm is read by them."""
    places = [point.at for point in chart.points if point.at > 0]
    if not places:
        return []
    powers = range(math.floor(math.log10(min(places))), math.ceil(math.log10(max(places))) + 1)
    found = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [number for number in found if min(places) <= number <= max(places)]
