"""A report as one object for programs: the words and numbers of the page, and the results they were made from."""

import dataclasses
from typing import Any

from audits.engine.check import CheckReport
from audits.engine.decision import DecisionReport
from reports.emitters.contracts import checks_object, decision_object
from reports.emitters.json import plain
from reports.model import ReportModel
from reports.parts import Figure, ReportInputs, Section


def page_object(model: ReportModel) -> dict[str, Any]:
    """Return every word and number of a page, for `reports.emitters.json.dumps`; a number that is none is null."""
    return {
        "kind": model.kind,
        "run": model.run,
        "title": model.title,
        "verdict": model.verdict,
        "redacted": model.redacted,
        "sections": [{"group": group.name, **_section(item)} for group in model.groups for item in group.sections],
    }


def results_object(inputs: ReportInputs) -> dict[str, Any]:
    """Return the decision and the checks of a run, each as its own command prints it.

    Returns:
        `decision`, null where the rule was not applied, and `checks` by what they are, null where the run has none.
    """
    found: dict[str, Any] = {"decision": None, "checks": {}}
    for field in dataclasses.fields(inputs):
        value = getattr(inputs, field.name)
        if isinstance(value, DecisionReport):
            found[field.name] = decision_object(dataclasses.replace(value, integrity=inputs.integrity))
        elif isinstance(value, CheckReport):
            found["checks"][field.name] = checks_object(value)
        elif "CheckReport" in str(field.type):
            found["checks"][field.name] = None
    return found


def _section(section: Section) -> dict[str, Any]:
    body: dict[str, Any] = plain(section)
    return body | {"figures": [_figure(figure) for figure in section.figures]}


def _figure(figure: Figure) -> dict[str, Any]:
    body: dict[str, Any] = plain(figure)
    body["chart"]["kind"] = type(figure.chart).__name__.lower()
    return body
