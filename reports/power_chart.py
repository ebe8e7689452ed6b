"""Power against the true gap, one line a discordance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.chart_style import SERIES_COLOURS, finished
from reports.display import text

HEIGHT = 340
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


@dataclass(frozen=True)
class Curve:
    """The power of one method at one discordance.

    Attributes:
        method: the method's id.
        discordance: true share of items that exactly one arm has right.
        points: (gap, power), gaps rising.
    """

    method: str
    discordance: float
    points: tuple[tuple[float, float], ...]


def power_spec(curves: Sequence[Curve], target: float) -> dict[str, Any]:
    """Return the Vega-Lite specification: gap in percentage points across, power upwards.

    Args:
        curves: at least one point each.
        target: the power asked for, drawn as a dotted line.
    """
    import altair as alt

    methods = list(dict.fromkeys(text(curve.method, 60) for curve in curves))
    shares = [f"{100 * share:.3g} %" for share in sorted({curve.discordance for curve in curves})]
    rows = [
        {"method": text(c.method, 60), "discordance": f"{100 * c.discordance:.3g} %", "gap": 100 * gap, "power": power}
        for c in curves
        for gap, power in c.points
    ]
    colours = [SERIES_COLOURS[index % len(SERIES_COLOURS)] for index in range(len(shares))]
    dashes = [_DASHES[index % len(_DASHES)] for index in range(len(methods))]
    names = alt.Legend(title=None, labelLimit=300) if len(methods) > 1 else None
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("gap:Q", title="true gap (pp)", scale=alt.Scale(nice=False, zero=True)),
            y=alt.Y(
                "power:Q", title="probability of validated", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%")
            ),
            color=alt.Color(
                "discordance:N", title="discordant items", sort=shares, scale=alt.Scale(domain=shares, range=colours)
            ),
            strokeDash=alt.StrokeDash(
                "method:N", sort=methods, scale=alt.Scale(domain=methods, range=dashes), legend=names
            ),
        )
    )
    aim = alt.Chart(alt.InlineData(values=[{"y": target}])).mark_rule(color="currentColor", strokeDash=[1, 3])
    drawn: dict[str, Any] = alt.layer(aim.encode(y=alt.Y("y:Q")), lines).properties(height=HEIGHT).to_dict()
    return finished(drawn)
