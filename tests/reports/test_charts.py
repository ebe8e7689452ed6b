"""Charts: an arm has one colour on a page, and an axis is one its numbers can stand on."""

import json

import pytest

from reports.charts import series_of, spec
from reports.parts import Curve, CurvePoint, Lines, Point
from reports.vega import clean_svg, render_svg


def _lines(*arms):
    return Lines("reward", tuple(Point(arm, "", "seed 0", step, 0.5) for arm in arms for step in range(3)))


def _curve(*arms, values=(0.0, 0.5), **changes):
    points = (
        CurvePoint(arm, "0", at, value, 9) for arm in arms for at, value in zip((0.003, 0.3), values, strict=True)
    )
    return Curve("delta", "share", "tokens", tuple(points), **changes)


def _found(node, key):
    if isinstance(node, dict):
        yield from (node[key] for name in node if name == key)
        node = list(node.values())
    for value in node if isinstance(node, list) else ():
        yield from _found(value, key)


def _colours(drawn):
    scale = next(color["scale"] for color in _found(drawn, "color") if isinstance(color, dict))
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_an_arm_has_its_colour_in_every_chart_of_a_page():
    charts = [_lines("grpo", "dppo"), _lines("dppo"), _curve("dppo", "grpo"), _lines("base", "dppo")]
    order = series_of(charts)
    assert order == ("grpo", "dppo", "base")
    colours = [_colours(spec(chart, order)) for chart in charts]
    assert {own["dppo"] for own in colours} == {"var(--c2)"}
    assert {own["grpo"] for own in colours if "grpo" in own} == {"var(--c1)"}
    assert colours[3]["base"] == "var(--c3)"


def test_more_arms_than_colours_start_again():
    arms = [f"arm{number}" for number in range(8)]
    assert _colours(spec(_lines(*arms)))["arm7"] == "var(--c2)"


def test_an_axis_by_logarithm_is_read_by_round_numbers_between_its_ends():
    drawn = spec(_curve("dppo", log_x=True, marks=(0.15,)))
    ticks = [axis["values"] for axis in _found(drawn["layer"], "axis") if "values" in axis]
    assert ticks
    assert all(values == [0.005, 0.01, 0.02, 0.05, 0.1, 0.2] for values in ticks)
    assert [{"x": 0.15}] in list(drawn["datasets"].values())


def test_a_diagonal_goes_through_both_ends_of_its_axes():
    drawn = spec(_curve("dppo", diagonal=True, span=(0.0, 1.0)))
    assert [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}] in list(drawn["datasets"].values())
    for axis in ("x", "y"):
        assert [0.0, 1.0] in [own["scale"]["domain"] for own in _found(drawn["layer"], axis) if "scale" in own]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_stand_nowhere_in_a_specification(bad):
    for chart in (
        _curve("dppo", values=(0.5, bad), levels=(bad,), marks=(bad,)),
        Lines("y", _lines("a").points, (bad,)),
    ):
        assert json.dumps(spec(chart), allow_nan=False)


def test_dots_stand_on_short_lines_and_on_lines_of_one_point_alone():
    def dots(*lengths):
        points = [Point(f"arm{arm}", "", "", step, 0.5) for arm, n in enumerate(lengths) for step in range(n)]
        return render_svg(spec(Lines("y", tuple(points))), 330, "x").count("<circle") - (
            len(lengths) if len(lengths) > 1 else 0
        )

    assert dots(16) == 16
    assert dots(17) == 0
    assert dots(40, 40) == 0
    assert dots(40, 1) == 41


def test_a_drawing_keeps_what_is_seen_and_loses_the_rest():
    circle = "M2.35,0A2.35,2.35,0,1,1,-2.35,0A2.35,2.35,0,1,1,2.35,0"
    raw = (
        '<svg xmlns="http://www.w3.org/2000/svg"><g transform="translate(1,2)">'
        f'<path transform="translate(9.28,7.1234)" d="{circle}" fill="red" opacity="1"/>'
        '<g><line x2="5" y2="0" fill="red" stroke-opacity="0.12"/></g><path d="" display="none" fill="red"/>'
        '<path d="M0,0h9" fill="blue" opacity="0"/></g><g/></svg>'
    )
    assert clean_svg(raw, "x") == (
        '<svg aria-hidden="true"><g transform="translate(1,2)" fill="red">'
        '<circle cx="9.3" cy="7.1" r="2.4" /><line x2="5" stroke-opacity="0.12" /></g></svg>'
    )
