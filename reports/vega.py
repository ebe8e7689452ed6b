"""Drawing without a browser: specifications to SVG, and the one script bundle that upgrades them.

The drawing of an SVG needs no network: all data stand in the specification.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

WIDE = 700
NARROW = 330
SVG = "http://www.w3.org/2000/svg"

# What vega draws with; anything else in an SVG has no business on the page.
_ELEMENTS = frozenset(
    {"svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clipPath", "linearGradient", "stop"}
)
# The figure box is the image for assistive technology; roles inside it would only be noise.
_DROPPED = frozenset({"role", "class", "pointer-events", "aria-hidden", "aria-label", "aria-roledescription"})
# Children hand these on, so that a group can carry once what all of its children have alike.
_INHERITED = frozenset(
    {"fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
     "stroke-linejoin", "stroke-miterlimit", "font-family", "font-size", "font-weight", "font-style", "text-anchor"}
)  # fmt: skip
_DEFAULTS = frozenset({("opacity", "1"), ("x2", "0"), ("y2", "0")})
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
_MOVED = re.compile(r"translate\(([-\d.]+),([-\d.]+)\)")


def at_width(spec: dict[str, Any], width: int) -> dict[str, Any]:
    """Return the specification at a total width in pixels."""
    return {**spec, "width": width}


def render_svg(spec: dict[str, Any], width: int, prefix: str) -> str:
    """Return the chart as an SVG element for the page.

    Args:
        spec: a Vega-Lite specification without a width.
        width: total width in pixels.
        prefix: put before every id, so that two drawings on one page never share one.
    """
    import vl_convert

    raw = vl_convert.vegalite_to_svg(at_width(spec, width))
    return clean_svg(raw, prefix)


def clean_svg(raw: str, prefix: str) -> str:
    """Return an SVG with only drawing elements, own ids, short numbers, and nothing that draws nothing.

    Raises:
        ValueError: the drawing has an element or attribute that could do something.
    """
    root = ElementTree.fromstring(raw)
    # Vega counts its ids through the life of the process: numbered afresh, the same chart gives the same text.
    found = dict.fromkeys(element.attrib["id"] for element in root.iter() if "id" in element.attrib)
    ids = {name: f"{prefix}-{index}" for index, name in enumerate(found)}
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{SVG}}}")
        if name not in _ELEMENTS:
            raise ValueError(f"unexpected element in a chart: {name!r}")
        element.tag = name
        for key, value in list(element.attrib.items()):
            if key.lower().startswith("on") or key.endswith("href"):
                raise ValueError(f"unexpected attribute in a chart: {key!r}")
            element.attrib.pop(key)
            if key not in _DROPPED:
                element.set(key, _attribute(key, value, ids))
    _shorten(root)
    root.set("aria-hidden", "true")
    return ElementTree.tostring(root, encoding="unicode")


def _shorten(parent: ElementTree.Element) -> None:
    """Take away what draws nothing and say the rest in fewer words: less than half of a chart's bytes stay."""
    for child in list(parent):
        _shorten(child)
        if _draws_nothing(child):
            parent.remove(child)
        elif child.tag == "g" and not child.attrib and len(child) == 1:
            parent[list(parent).index(child)] = child[0]
    for name, _ in _DEFAULTS & parent.attrib.items():
        del parent.attrib[name]
    _as_circle(parent)
    if parent.tag == "g" and len(parent) > 1:
        _hand_up(parent)


def _draws_nothing(element: ElementTree.Element) -> bool:
    if element.get("opacity") == "0":
        return True
    if element.tag == "path":
        return not element.get("d") or element.get("d") == "M0,0h0v0h0Z" or element.get("display") == "none"
    return element.tag == "g" and not len(element)


def _as_circle(element: ElementTree.Element) -> None:
    circle = _CIRCLE.fullmatch(element.get("d", ""))
    moved = _MOVED.fullmatch(element.get("transform", ""))
    if element.tag == "path" and circle and moved:
        element.tag = "circle"
        del element.attrib["d"], element.attrib["transform"]
        element.attrib |= {"cx": moved[1], "cy": moved[2], "r": circle[1]}


def _hand_up(group: ElementTree.Element) -> None:
    """Let a group carry what each of its children says alike."""
    for name in sorted(_INHERITED.intersection(*(child.keys() for child in group))):
        values = {child.attrib[name] for child in group}
        if len(values) == 1:
            group.set(name, values.pop())
            for child in group:
                del child.attrib[name]


def _attribute(key: str, value: str, ids: Mapping[str, str]) -> str:
    if key == "id":
        return ids[value]
    if value.startswith("url(#"):
        return f"url(#{ids[value[5:-1]]})"
    # A tenth of a pixel is finer than any screen shows; a share of opacity is not.
    places = 2 if key.endswith("opacity") else 1
    return _LONG_NUMBER.sub(lambda match: f"{float(match.group()):.{places}f}".removesuffix(".0"), value)


def javascript_bundle() -> str:
    """Return the Vega script for one inline element.

    Raises:
        ValueError: the bundle holds a text that would end the element early.
    """
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for what is optional
    if "</script" in bundle.lower() or "<!--" in bundle:
        raise ValueError("the Vega bundle cannot stand in an inline script")
    return bundle
