"""Lines over steps, and over any other quantity, as Vega-Lite specifications."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.chart_style import body, colours, data, drawable
from reports.parts import Curve, Lines

if TYPE_CHECKING:
    import altair as alt

LINES_HEIGHT = 190
CURVE_HEIGHT = 240
_DASHES = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]


def lines(chart: Lines, order: Sequence[str]) -> dict[str, Any]:
    """Return the specification of values over steps."""
    import altair as alt

    rows = [
        {
            "series": point.series,
            "variant": point.variant,
            "detail": point.detail,
            "step": point.step,
            "value": drawable(point.value),
        }
        for point in chart.points
    ]
    # A line for each detail stands in the tooltip only where there are several.
    details = [alt.Tooltip("detail:N", title="line")] if len({point.detail for point in chart.points}) > 1 else []
    tooltip = [*details, alt.Tooltip("step:Q"), alt.Tooltip("value:Q", title=chart.y_title, format=".5g")]
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "step:Q", axis=alt.Axis(format="d", tickMinStep=1, grid=False), scale=alt.Scale(zero=False, nice=False)
        ),
        y=alt.Y("value:Q", title=chart.y_title, axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True)),
        detail="detail:N",
    )
    drawn = _series(base, chart, tooltip, order)
    return body(alt.layer(*_levels(chart.limits, [6, 4]), *drawn).properties(height=LINES_HEIGHT))


def curve(chart: Curve, order: Sequence[str]) -> dict[str, Any]:
    """Return the specification of values over another quantity."""
    import altair as alt

    rows = [
        {
            "series": point.series,
            "variant": point.variant,
            "at": drawable(point.at),
            "value": drawable(point.value),
            "counted": point.counted,
        }
        for point in chart.points
    ]
    tooltip = [
        alt.Tooltip("at:Q", title=chart.x_title, format=".4g"),
        alt.Tooltip("value:Q", title=chart.y_title, format=".4g"),
        alt.Tooltip("counted:Q", title=chart.counted_title, format=",d"),
    ]
    unit: dict[str, Any] = {"domain": [0, 1]} if chart.diagonal else {}
    across = alt.Scale(type="log") if chart.log_x else alt.Scale(nice=False, **unit)
    upwards = alt.Scale(type="sqrt", zero=True) if chart.root_y else alt.Scale(zero=True, **unit)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("at:Q", title=chart.x_title, axis=alt.Axis(tickCount=5, format="~g", grid=False), scale=across),
        y=alt.Y("value:Q", title=chart.y_title, axis=alt.Axis(tickCount=5, format="~g"), scale=upwards),
        order=alt.Order("at:Q"),
    )
    behind = [*_marks(chart.marks), *_levels(chart.levels, [1, 0]), *(_diagonal() if chart.diagonal else ())]
    return body(alt.layer(*behind, *_series(base, chart, tooltip, order)).properties(height=CURVE_HEIGHT))


def _series(
    base: "alt.Chart", chart: Lines | Curve, tooltip: "list[alt.Tooltip]", order: Sequence[str]
) -> "list[alt.Chart]":
    """Return a line and its dots for each series and variant."""
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
    dash = alt.StrokeDash(
        "variant:N",
        title=chart.variant_title,
        scale=alt.Scale(domain=variants, range=_DASHES[: max(1, min(len(_DASHES), len(variants)))]),
        legend=alt.Legend() if several else None,
    )
    return [
        coloured.mark_line(strokeWidth=1.8).encode(strokeDash=dash),
        coloured.mark_point(filled=True, size=22, opacity=1).encode(tooltip=[*shown, *tooltip]),
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


def _diagonal() -> "list[alt.Chart]":
    import altair as alt

    ends = alt.Chart(data([{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    return [ends.mark_line(color="currentColor", strokeWidth=1, strokeDash=[2, 3]).encode(x="x:Q", y="y:Q")]
