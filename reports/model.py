"""The report model: every word and number of a page, decided before anything is drawn."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

import reports.sections
from audits.engine.check import CheckReport
from audits.engine.decision import DecisionReport
from reports.display import LABEL_LIMIT, TEXT_LIMIT, VERDICT_SIGNS, text
from reports.parts import ReportInputs, Section

if TYPE_CHECKING:
    from audits.engine.curve import CheckpointScore
    from audits.engine.drift import DriftRow


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


def build_report(
    *,
    run: str,
    title: str,
    decision: DecisionReport | None,
    gate: CheckReport | None,
    drift: "Sequence[DriftRow]",
    provenance: Mapping[str, str],
    looks: Sequence[Mapping[str, str]],
    plan_summary: Mapping[str, str],
    curve: "Sequence[CheckpointScore]" = (),
    preflights: CheckReport | None = None,
) -> ReportModel:
    """Return the page for one run.

    Args:
        run: the run's directory as commands name it.
        title: the plan's title, or the run's name.
        decision: the result of the decision rule, None where it was not applied.
        gate: the activation gate's checks, None where the run has none.
        drift: drift rows of all arms, in any order.
        provenance: hashes, versions, command line and times, name to value, in the order to show.
        looks: the recorded looks at the outcomes, oldest first.
        plan_summary: what the plan fixes, name to value; `decoding` names how answers were decoded.
        curve: the points of the validation curve, sorted by arm, seed and step.
        preflights: one check a preflight and each comparison that did not pass; None where none belongs to the run.
    """
    inputs = ReportInputs(
        run, title, decision, gate, tuple(drift), provenance, tuple(looks), plan_summary, tuple(curve), preflights
    )
    verdict = "none" if decision is None else text(decision.verdict, LABEL_LIMIT)
    return ReportModel(
        run=text(run, TEXT_LIMIT),
        title=text(title, 200) or "Untitled run",
        verdict=verdict,
        sign=VERDICT_SIGNS.get(verdict, "?"),
        sections=tuple(module.build(inputs) for _, module in section_modules()),
    )
