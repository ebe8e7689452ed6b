"""Bars made of parts, and points with intervals, as Vega-Lite specifications."""

import math
from collections.abc import Sequence
from typing import Any

from reports.chart_style import SERIES_COLOURS, body, colours, data, drawable
from reports.parts import Spread, Stack

ROW_HEIGHT = 30
SPREAD_HEIGHT = 240


def stack(chart: Stack) -> dict[str, Any]:
    """Return the specification of bars that are made of parts."""
    import altair as alt

    labels = list(dict.fromkeys(one.row for one in chart.points))
    parts = list(dict.fromkeys(one.part for one in chart.points))
    rows = [
        {"row": one.row, "part": one.part, "order": parts.index(one.part), "value": drawable(one.value)}
        for one in chart.points
    ]
    # The last colours of the page: the first ones are the arms'.
    own = SERIES_COLOURS[-len(parts) :]
    bars = alt.Chart(data(rows)).mark_bar(stroke="var(--paper)", strokeWidth=1)
    drawn = bars.encode(
        x=alt.X("value:Q", title=chart.x_title, stack="zero", axis=alt.Axis(tickCount=5, format="~g")),
        y=alt.Y("row:N", title=None, sort=labels, axis=alt.Axis(labelLimit=150, ticks=False)),
        color=alt.Color("part:N", title=chart.part_title, scale=alt.Scale(domain=parts, range=list(own))),
        order=alt.Order("order:Q"),
        tooltip=[
            alt.Tooltip("row:N", title="arm"),
            alt.Tooltip("part:N", title=chart.part_title),
            alt.Tooltip("value:Q", format=".4g"),
        ],
    )
    return body(drawn.properties(height=ROW_HEIGHT * max(2, len(labels))))


def spread(chart: Spread, order: Sequence[str]) -> dict[str, Any]:
    """Return the specification of points with an interval each."""
    import altair as alt

    rows = [
        {
            "series": point.series, "label": point.label, "at": drawable(point.at), "value": drawable(point.value),
            "lower": drawable(point.lower), "upper": drawable(point.upper),
        }
        for point in chart.points
    ]  # fmt: skip
    names, own = colours((point.series for point in chart.points), order)
    # Room on the right for the words beside the last point.
    across = _ends([point.at for point in chart.points], before=0.1, behind=0.35)
    upwards = alt.Scale(domain=_ends([end for point in chart.points for end in (point.lower, point.upper)]), nice=False)
    tooltip = [
        alt.Tooltip("series:N", title=chart.series_title),
        alt.Tooltip("label:N", title="critic"),
        alt.Tooltip("at:Q", title=chart.x_title, format=".4g"),
        *(alt.Tooltip(f"{name}:Q", format=".4g") for name in ("value", "lower", "upper")),
    ]
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "at:Q", title=chart.x_title, axis=alt.Axis(tickCount=5, format="~g", grid=False),
            scale=alt.Scale(domain=across, nice=False),
        ),
        color=alt.Color("series:N", title=chart.series_title, scale=alt.Scale(domain=names, range=own)),
    )  # fmt: skip
    whiskers = base.mark_rule(strokeWidth=2).encode(
        y=alt.Y("lower:Q", title=chart.y_title, axis=alt.Axis(tickCount=5, format="~g"), scale=upwards),
        y2="upper:Q",
        tooltip=tooltip,
    )
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(y="value:Q", tooltip=tooltip)
    words = base.mark_text(align="left", dx=8, dy=-8, fontSize=11).encode(
        y="value:Q", text="label:N", color=alt.value("currentColor")
    )
    return body(alt.layer(whiskers, marks, words).properties(height=SPREAD_HEIGHT))


def _ends(values: Sequence[float], *, before: float = 0.06, behind: float = 0.06) -> list[float]:
    """Return the ends of an axis that shows all values, with room in shares of their range."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    span = max(finite) - min(finite) or 1.0
    return [min(finite) - before * span, max(finite) + behind * span]
