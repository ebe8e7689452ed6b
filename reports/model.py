"""The report model: every word and number of a page, decided before anything is drawn."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from types import ModuleType
from typing import Any, Protocol, cast

import reports.comparison
import reports.sections
from reports.display import LABEL_LIMIT, TEXT_LIMIT, VERDICT_SIGNS, text
from reports.parts import ComparisonInputs, ReportInputs, Section

# A section's ORDER places it, and says in which group: the first whose limit lies above it.
GROUPS = ((30, "Decision"), (80, "Evidence"), (1000, "Record"))


class SectionModule(Protocol):
    """What a file in `reports/sections/` or `reports/comparison/` offers; a template of its own has the same name."""

    ORDER: int
    build: Callable[[Any], Section]


@dataclass(frozen=True)
class Group:
    """Sections that answer one kind of question."""

    name: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class ReportModel:
    """A whole page.

    Attributes:
        kind: what the page is, in two or three words.
        run: the run's directory, or both runs' of a comparison.
        title: one line.
        verdict: the verdict's word, or `none` where the run has no decision.
        sign: the sign that stands beside the word.
        groups: the sections in the order of the page.
        redacted: whether questions, answers and completions are left out.
        folder: the folder in `reports/` that the sections and their templates stand in.
    """

    kind: str
    run: str
    title: str
    verdict: str
    sign: str
    groups: tuple[Group, ...]
    folder: str
    redacted: bool = False

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections in the order of the page."""
        return tuple(section for group in self.groups for section in group.sections)


def section_modules(package: ModuleType = reports.sections) -> list[tuple[str, SectionModule]]:
    """Return the sections found in a folder, by their ORDER and then by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    found = [(name, cast(SectionModule, importlib.import_module(f"{package.__name__}.{name}"))) for name in names]
    return sorted(found, key=lambda pair: (pair[1].ORDER, pair[0]))


def grouped(built: Iterable[tuple[int, Section]]) -> tuple[Group, ...]:
    """Return sections, which stand in the order of their ORDER, in their groups."""
    return tuple(
        Group(name, tuple(section for _, section in members))
        for name, members in groupby(built, key=lambda pair: next(name for limit, name in GROUPS if pair[0] < limit))
    )


def build_report(inputs: ReportInputs) -> ReportModel:
    """Return the page for one run."""
    decision = inputs.decision
    verdict = "none" if decision is None else text(decision.verdict, LABEL_LIMIT)
    return ReportModel(
        kind="Run report",
        run=text(inputs.run, TEXT_LIMIT),
        title=text(inputs.title, 200) or "Untitled run",
        verdict=verdict,
        sign=VERDICT_SIGNS.get(verdict, "?"),
        groups=grouped((module.ORDER, module.build(inputs)) for _, module in section_modules()),
        folder="sections",
        redacted=inputs.redacted,
    )


def build_comparison(inputs: ComparisonInputs) -> ReportModel:
    """Return the page that compares two runs."""
    verdicts = ["none" if run.decision is None else text(run.decision.verdict, LABEL_LIMIT) for _, run in inputs.named]
    modules = section_modules(reports.comparison)
    return ReportModel(
        kind="Comparison of two runs",
        run=" and ".join(text(run.run, TEXT_LIMIT) for _, run in inputs.named),
        title=" and ".join(f"{name}: {_told_apart(run, inputs)}" for name, run in inputs.named),
        verdict=" and ".join(verdicts),
        sign="",
        groups=grouped((module.ORDER, module.build(inputs)) for _, module in modules),
        folder="comparison",
        redacted=any(run.redacted for _, run in inputs.named),
    )


def _told_apart(run: ReportInputs, inputs: ComparisonInputs) -> str:
    """Return a run's title, with its path where both have the same."""
    title = text(run.title, 200) or "untitled"
    return f"{title} ({text(run.run, TEXT_LIMIT)})" if inputs.first.title == inputs.second.title else title
