"""Charts as Vega-Lite specifications.

Widths are not set here: `reports.vega` draws one specification at several widths.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from reports.chart_style import body, data, finished
from reports.line_charts import curve, lines
from reports.part_charts import spread, stack
from reports.parts import Curve, Forest, Heat, Lines, Spread, Stack

if TYPE_CHECKING:
    import altair as alt

Chart = Forest | Lines | Curve | Heat | Stack | Spread

STATE_COLOURS = {
    "validated": "var(--good)",
    "refuted": "var(--bad)",
    "tie": "var(--even)",
    "inconclusive": "var(--open)",
    "void": "var(--bad)",
}
STATE_SHAPES = {
    "validated": "circle",
    "refuted": "square",
    "tie": "diamond",
    "inconclusive": "triangle-up",
    "void": "cross",
}
ROW_HEIGHT = 46


def spec(chart: Chart, order: Sequence[str] = ()) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, the same for the same data.

    Args:
        chart: what is drawn.
        order: series of the whole page (`series_of`), so that one has the same colour in all its charts.
    """
    if isinstance(chart, Lines):
        return finished(lines(chart, order))
    if isinstance(chart, Curve):
        return finished(curve(chart, order))
    if isinstance(chart, Stack):
        return finished(stack(chart))
    if isinstance(chart, Spread):
        return finished(spread(chart, order))
    return finished(_forest(chart) if isinstance(chart, Forest) else _heat(chart))


def series_of(charts: Iterable[Chart]) -> tuple[str, ...]:
    """Return the names of all series that have a colour, in the order in which they first appear."""
    coloured = (chart for chart in charts if isinstance(chart, Lines | Curve | Spread))
    return tuple(dict.fromkeys(point.series for chart in coloured for point in chart.points))


def _rule(x: float, colour: str, dash: list[int]) -> "alt.Chart":
    import altair as alt

    mark = alt.Chart(data([{"x": x}])).mark_rule(color=colour, strokeDash=dash, strokeWidth=1.5, clip=True)
    return cast("alt.Chart", mark.encode(x=alt.X("x:Q")))


def _span(chart: Forest) -> list[float]:
    """Return the ends of the axis: everything that is drawn, and a little more."""
    shown = [value for row in chart.rows for value in (row.lower, row.upper, row.estimate)]
    shown += [0.0, chart.margin, chart.floor]
    if chart.band is not None:
        shown += [chart.band, -chart.band]
    room = 0.06 * (max(shown) - min(shown)) or 1.0
    return [min(shown) - room, max(shown) + room]


def _forest(chart: Forest) -> dict[str, Any]:
    import altair as alt

    rows = [
        {
            "row": index,
            "label": row.label,
            "verdict": row.state,
            "estimate": row.estimate,
            "lower": row.lower,
            "upper": row.upper,
            "fill": STATE_COLOURS.get(row.state, "currentColor") if row.registered else "transparent",
        }
        for index, row in enumerate(chart.rows)
    ]
    states = list(dict.fromkeys(row.state for row in chart.rows))
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=states, range=[STATE_COLOURS.get(s, "currentColor") for s in states])
    )
    shape = alt.Shape(
        "verdict:N",
        title="verdict",
        scale=alt.Scale(domain=states, range=[STATE_SHAPES.get(s, "stroke") for s in states]),
    )
    # Fewer ticks than the default: minus signs make labels wide, and the narrow drawing has 330 pixels.
    axis = alt.Axis(tickCount=6, labelSeparation=8)
    x = alt.X(
        "lower:Q", title=f"difference ({chart.unit})", scale=alt.Scale(domain=_span(chart), nice=False), axis=axis
    )
    y = alt.Y("row:O", axis=None, scale=alt.Scale(paddingOuter=0.3))
    tooltip = [
        alt.Tooltip("label:N", title="method"),
        alt.Tooltip("verdict:N"),
        *(alt.Tooltip(f"{name}:Q", format="+.3f") for name in ("estimate", "lower", "upper")),
    ]
    base = alt.Chart(data(rows))
    bars = base.mark_rule(strokeWidth=2.5).encode(x=x, x2="upper:Q", y=y, color=colour.legend(None), tooltip=tooltip)
    marks = base.mark_point(size=90, strokeWidth=2, opacity=1).encode(
        x=alt.X("estimate:Q"),
        y=y,
        color=colour.legend(None),
        fill=alt.Fill("fill:N", scale=None, legend=None),
        shape=shape,
        tooltip=tooltip,
    )
    place: dict[str, Any] = {"align": "left", "dy": -15, "fontSize": 11, "limit": 290}
    # The rules run behind the labels: a stroke in the page's colour keeps the words free of them.
    halo = base.mark_text(**place, color="transparent", stroke="var(--paper)", strokeWidth=4, strokeJoin="round")
    words = base.mark_text(**place, color="currentColor")
    labels = [mark.encode(x=alt.value(2), y=y, text="label:N") for mark in (halo, words)]
    behind: list[alt.Chart] = []
    if chart.band is not None:
        band = alt.Chart(data([{"from": -chart.band, "to": chart.band}])).mark_rect(color="currentColor", opacity=0.1)
        behind.append(band.encode(x=alt.X("from:Q"), x2="to:Q"))
    behind.append(_rule(0.0, "currentColor", [1, 0]))
    if chart.margin != 0:
        behind.append(_rule(chart.margin, "currentColor", [6, 4]))
    if chart.floor != 0:
        behind.append(_rule(chart.floor, "currentColor", [2, 3]))
    return body(alt.layer(*behind, bars, marks, *labels).properties(height=ROW_HEIGHT * max(1, len(rows))))


def _heat(chart: Heat) -> dict[str, Any]:
    import altair as alt

    rows = [{"row": point.series, "step": point.step, "value": point.value} for point in chart.points]
    steps = sorted({point.step for point in chart.points})
    # Opacity, not hue, carries the value: the cell's colour then follows the page's light or dark scheme.
    opacity = alt.Opacity(
        "value:Q",
        title=chart.value_title,
        scale=alt.Scale(domain=_heat_domain(chart), range=[0.06, 1.0]),
        legend=alt.Legend(symbolType="square", symbolFillColor="var(--c1)", symbolStrokeWidth=0, symbolSize=140),
    )
    cells = alt.Chart(data(rows)).mark_rect(fill="var(--c1)", stroke="currentColor", strokeOpacity=0.15)
    every = max(1, len(steps) // 8)
    drawn = cells.encode(
        x=alt.X("step:O", axis=alt.Axis(labelAngle=0, values=steps[::every], ticks=False)),
        y=alt.Y("row:N", title=None, sort=list(chart.rows), axis=alt.Axis(labelLimit=140, ticks=False)),
        opacity=opacity,
        tooltip=[
            alt.Tooltip("row:N", title="arm, seed, update"),
            alt.Tooltip("step:O"),
            alt.Tooltip("value:Q", title=chart.value_title, format=".5g"),
        ],
    ).properties(height=22 * max(2, len(chart.rows)))
    return body(drawn)


def _heat_domain(chart: Heat) -> list[float]:
    highest = max((point.value for point in chart.points), default=0.0)
    return [0.0, highest if highest > 0 else 1.0]
