"""The page: one file that asks for nothing, works without scripts, and is the same for the same input."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reports.display import REDACTED, STATUS_SIGNS, VERDICT_SIGNS
from reports.model import ReportModel
from reports.vega import javascript_bundle

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Backticks stand in sentences for terminals and Markdown; HTML has an element for them.
_COMMANDS = re.compile(r"`(audit [^`\n]{1,200})`")
_SIGNED = re.compile(rf"^([{re.escape(''.join({*STATUS_SIGNS.values(), *VERDICT_SIGNS.values()}))}]) (?=[a-z])")
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Plot:
    """A chart at one width. `svg` was drawn and checked by `reports.vega`, so it is markup, not text."""

    kind: str
    width: int
    svg: str


@dataclass(frozen=True)
class Drawing:
    """A figure's specification and its drawings."""

    spec: dict[str, object]
    plots: tuple[Plot, ...]


def render_html(
    model: ReportModel,
    *,
    drawings: Mapping[str, Drawing] | None = None,
    script_of: Callable[[], str] = javascript_bundle,
) -> str:
    """Return the page of a report.

    Args:
        model: what it says.
        drawings: of `draw`, where they were drawn before all of the model was known; None draws them here.
        script_of: gives the Vega script; another process may be at work on it.
    """
    if drawings is None:
        drawings = draw(model)
    boot = (_ROOT / "templates" / "boot.js").read_text(encoding="utf-8")
    vega = script_of() if drawings else ""
    page = _environment().get_template("templates/page.html.j2")
    return page.render(
        model=model,
        redacted=REDACTED,
        drawings=drawings,
        vega=vega,
        boot=boot,
        policy=_policy([vega, boot] if vega else [boot]),
        css=(_ROOT / "templates" / "page.css").read_text(encoding="utf-8"),
    )


def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_ROOT),
        # Jinja's own choice by file name is off for *.html.j2.
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = _prose
    environment.policies["json.dumps_function"] = _dumps
    return environment


def _prose(value: str) -> "Markup":
    """Return text as markup: `audit …` as code, and a status or verdict never parted from the sign before it."""
    from markupsafe import Markup, escape

    shown = _SIGNED.sub(lambda found: f"{found[1]}\u00a0", value)
    return Markup(_COMMANDS.sub(lambda found: f"<code>{found[1]}</code>", str(escape(shown))))


def _dumps(value: object, **_: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def draw(model: ReportModel) -> dict[str, Drawing]:
    """Return the drawings of all figures by their ids; drawing lets go of the interpreter, so two cores halve it."""
    from reports.charts import series_of, spec
    from reports.vega import NARROW, WIDE, render_svg

    figures = [figure for section in model.sections for figure in section.figures]
    order = series_of(figure.chart for figure in figures)
    specs = {figure.id: spec(figure.chart, order) for figure in figures}
    both = [("wide", WIDE), ("narrow", NARROW)]
    wanted = [
        (figure.id, kind, width) for figure in figures for kind, width in ([("only", NARROW)] if figure.small else both)
    ]
    with ThreadPoolExecutor() as pool:
        drawn = list(pool.map(lambda each: render_svg(specs[each[0]], each[2], f"{each[0]}-{each[1]}"), wanted))
    plots: dict[str, list[Plot]] = {}
    for (name, kind, width), svg in zip(wanted, drawn, strict=True):
        plots.setdefault(name, []).append(Plot(kind, width, svg))
    return {name: Drawing(body, tuple(plots[name])) for name, body in specs.items()}


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
