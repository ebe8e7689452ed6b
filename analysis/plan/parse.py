"""From a document to a plan: the format is recognised, and every problem is named with its path."""

import json
from typing import Any

from pydantic import ValidationError

from analysis.errors import AuditError
from analysis.plan.legacy import PlanV1, PlanV2
from analysis.plan.model import Plan
from analysis.plan.problems import describe
from analysis.plan.text import load_document

AnyPlan = Plan | PlanV2 | PlanV1


def parse_plan_text(text: str, *, source: str) -> AnyPlan:
    """Return the plan that a file's text holds.

    Args:
        text: the file's text.
        source: the file's name, for messages.

    Raises:
        AuditError: the text is not strict JSON or not a plan; the message lists every problem.
    """
    return parse_plan(load_document(text, source=source), source=source)


def parse_plan(data: object, *, source: str) -> AnyPlan:
    """Return the plan of format 1, 2 or 3 that a document holds.

    A document with `"format": 3` is format 3; without `format` it is format 2 if it has arms, an activation
    gate or a decision rule, and format 1 if it has none of them.

    Args:
        data: what the JSON parser returned.
        source: the file's name, for messages.

    Raises:
        AuditError: one message with a line a problem: `FILE: path.of.key: what is wrong`.
    """
    if not isinstance(data, dict):
        raise AuditError(f"{source}: a plan is a JSON object, not {_kind(data)}. `audit spec demo` shows one.")
    model = _model_of(data, source)
    try:
        return model.model_validate_json(_json(data, source), strict=True)
    except ValidationError as error:
        lines = [f"{source}: {problem}" for problem in describe(error, model)]
        raise AuditError("\n".join(lines)) from error


def format_of(plan: AnyPlan) -> int:
    """Return 1, 2 or 3."""
    if isinstance(plan, Plan):
        return 3
    return 2 if isinstance(plan, PlanV2) else 1


def _model_of(data: dict[str, Any], source: str) -> type[Plan] | type[PlanV2] | type[PlanV1]:
    if "format" in data:
        if data["format"] is True or data["format"] != 3:
            shown = repr(data["format"])[:40]
            raise AuditError(
                f"{source}: format: {shown} is not known. This version reads 3, and 1 and 2 without the key."
            )
        return Plan
    if {"rollout", "losses"} & data.keys():
        raise AuditError(f'{source}: format: missing. A plan with rollout or losses needs "format": 3.')
    return PlanV2 if {"decision_rule", "activation_gate", "arms"} & data.keys() else PlanV1


def _json(data: dict[str, Any], source: str) -> str:
    # Strict validation takes a list for a tuple only from JSON, so the document goes through JSON once more.
    try:
        return json.dumps(data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(
            f"{source}: cannot be written as JSON ({error}). Give strings, finite numbers, lists and objects only."
        ) from error


def _kind(data: object) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(data), "a number")
