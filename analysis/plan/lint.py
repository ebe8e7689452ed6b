"""Find the lints by walking their folder, and run those that read a plan's format."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from analysis.plan import lints
from analysis.plan.finding import HEURISTIC, Finding, LintInfo
from analysis.plan.parse import AnyPlan, format_of

_ORDER = {"error": 0, "warn": 1, "note": 2}


@dataclass(frozen=True)
class Lint:
    """One lint: its id (the file's name), its documentation, what it reads, and the function that looks."""

    id: str
    documentation: str
    info: LintInfo
    findings: Callable[[AnyPlan], Iterator[Finding]]


def all_lints() -> tuple[Lint, ...]:
    """Return every lint in `analysis/plan/lints`, by id."""
    names = sorted(module.name for module in pkgutil.iter_modules(lints.__path__))
    return tuple(_load(name) for name in names)


def lint(plan: AnyPlan) -> tuple[Finding, ...]:
    """Return what the lints find in a plan.

    Errors come first, then warnings, then notes; within them what fields say before what prose seems to say.
    """
    version = format_of(plan)
    found = [
        _complete(finding, rule)
        for rule in all_lints()
        if version in rule.info.formats
        for finding in rule.findings(plan)
    ]
    return tuple(sorted(found, key=lambda finding: (_ORDER[finding.severity or "note"], finding.reads == "prose")))


def blocking(plan: AnyPlan) -> tuple[Finding, ...]:
    """Return the findings that forbid a full run; the lints that never forbid one are not run."""
    version = format_of(plan)
    found = (
        _complete(finding, rule)
        for rule in all_lints()
        if version in rule.info.formats and rule.info.severity == "error"
        for finding in rule.findings(plan)
    )
    return tuple(finding for finding in found if finding.severity == "error")


def _load(name: str) -> Lint:
    module = importlib.import_module(f"{lints.__name__}.{name}")
    return Lint(id=name, documentation=(module.__doc__ or "").strip(), info=module.LINT, findings=module.findings)


def _complete(finding: Finding, rule: Lint) -> Finding:
    """Fill in what the lint says once for all its findings."""
    reads = finding.reads or rule.info.reads
    message = f"{finding.message} [{HEURISTIC}]" if reads == "prose" else finding.message
    severity = finding.severity or rule.info.severity
    return replace(finding, lint=rule.id, severity=severity, reads=reads, message=message)
