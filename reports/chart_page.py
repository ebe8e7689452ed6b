"""Charts in a file of their own, as SVG or as one page with their table; no script, nothing asked of the network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from analysis.errors import AuditError

WIDTH = 760
_TEMPLATES = Path(__file__).resolve().parent / "templates"


@dataclass(frozen=True)
class Chart:
    """One drawing: its Vega-Lite specification, what it shows for who does not see it, and how to read it."""

    spec: Mapping[str, Any]
    label: str
    caption: str


@dataclass(frozen=True)
class ChartPage:
    """What stands on the page: all words and numbers are decided before it is drawn.

    Attributes:
        kind: one word above the title.
        title: one line.
        sentences: paragraphs above the charts.
        columns: heads of the table.
        rows: its cells.
        notes: lines beneath.
        charts: at least one.
    """

    kind: str
    title: str
    sentences: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    charts: tuple[Chart, ...]


def write_chart_page(page: ChartPage, path: Path) -> None:
    """Draw a page into a new or existing .html or .svg file; the SVG holds the charts one beneath the other.

    Raises:
        AuditError: another ending, or the file cannot be written.
    """
    draw = {".html": chart_page_html, ".svg": chart_page_svg}.get(path.suffix.lower())
    if draw is None:
        raise AuditError(f"--chart {path}: name a file that ends in .html or .svg")
    try:
        path.write_text(draw(page), encoding="utf-8")
    except OSError as error:
        raise AuditError(f"--chart {path}: cannot be written: {error.strerror or error}") from error


def chart_page_svg(page: ChartPage) -> str:
    """Return the charts as an SVG file of its own: the page's colours in place of its variables."""
    from reports.vega import SVG

    colours = dict(reversed(re.findall(r"(--[a-z0-9]+): (#[0-9a-f]{6});", _css())))
    drawings = [ElementTree.fromstring(drawn) for drawn in _drawn(page)]
    height = 0.0
    parts = []
    for drawing in drawings:
        drawing.set("y", f"{height:g}")
        height += float(drawing.attrib["height"])
        parts.append(ElementTree.tostring(drawing, encoding="unicode"))
    filled = re.sub(r"var\((--[a-z0-9]+)\)", lambda found: colours[found[1]], "\n".join(parts))
    # An image beside no page has no scheme to follow: black on white.
    style = 'style="color: #1b1f24; background: #ffffff"'
    return f'<svg xmlns="{SVG}" {style} width="{WIDTH}" height="{height:g}">\n{filled}\n</svg>\n'


def chart_page_html(page: ChartPage) -> str:
    """Return one page with charts and table."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Jinja's own choice by file name is off for *.html.j2.
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    drawings = list(zip(page.charts, _drawn(page), strict=True))
    return environment.get_template("charts.html.j2").render(page=page, drawings=drawings, css=_css())


def _drawn(page: ChartPage) -> list[str]:
    from reports.vega import render_svg

    return [render_svg(dict(chart.spec), WIDTH, f"chart{number}") for number, chart in enumerate(page.charts)]


def _css() -> str:
    return (_TEMPLATES / "page.css").read_text(encoding="utf-8")
