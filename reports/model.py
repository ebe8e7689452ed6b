"""The report model: every word and number of a page, decided before anything is drawn."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import reports.sections
from reports.display import LABEL_LIMIT, TEXT_LIMIT, VERDICT_SIGNS, text
from reports.parts import ReportInputs, Section


class SectionModule(Protocol):
    """What a file in `reports/sections/` offers; its template has the same name."""

    ORDER: int
    build: Callable[[ReportInputs], Section]


@dataclass(frozen=True)
class ReportModel:
    """A whole page.

    Attributes:
        verdict: the verdict's word, or `none` where the run has no decision.
        sign: the sign that stands beside the word.
        sections: in the order of the page.
    """

    run: str
    title: str
    verdict: str
    sign: str
    sections: tuple[Section, ...]


def section_modules() -> list[tuple[str, SectionModule]]:
    """Return the sections found in the folder, by their ORDER and then by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(reports.sections.__path__))
    found = [
        (name, cast(SectionModule, importlib.import_module(f"{reports.sections.__name__}.{name}"))) for name in names
    ]
    return sorted(found, key=lambda pair: (pair[1].ORDER, pair[0]))


def build_report(inputs: ReportInputs) -> ReportModel:
    """Return the page for one run."""
    decision = inputs.decision
    verdict = "none" if decision is None else text(decision.verdict, LABEL_LIMIT)
    return ReportModel(
        run=text(inputs.run, TEXT_LIMIT),
        title=text(inputs.title, 200) or "Untitled run",
        verdict=verdict,
        sign=VERDICT_SIGNS.get(verdict, "?"),
        sections=tuple(module.build(inputs) for _, module in section_modules()),
    )
