"""The SDK's default for the optimiser's eps is not the planned one.

`AdamParams` of the tinker SDK 0.38 has eps = 1e-12. A command that passes only the learning rate therefore runs
with 1e-12, whatever the plan says elsewhere; near-zero gradients are then scaled up to full steps. For formats 1
and 2 the call is looked for in the plan's prose. Format 3 has eps as a field, and the runner passes every field;
there the finding only reminds whoever compares with another trainer.
"""

import re
from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.legacy import PlanV2
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan
from analysis.plan.walk import texts

LINT = LintInfo(severity="warn", formats=(1, 2, 3), reads="prose")

# Checked against the installed SDK by the tests; analysis must not import it.
SDK_DEFAULT_EPS = 1e-12
_CALL = re.compile(r"AdamParams\(")


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each call without eps, or a note where the field differs from the default."""
    if isinstance(plan, Plan):
        if plan.optimizer.eps != SDK_DEFAULT_EPS:
            yield Finding(
                "optimizer.eps",
                f"planned {plan.optimizer.eps:g}; the SDK's own default is {SDK_DEFAULT_EPS:g}, "
                "so a call that leaves eps out would not run this plan",
                "Nothing to do here: the runner passes every field, and table updates holds what was sent.",
                severity="note",
                reads="fields",
            )
        return
    planned = sorted(_planned(plan))
    for path, text in texts(plan):
        for call in _calls(text):
            if not re.search(r"\beps\s*=", call):
                yield Finding(path, _message(call, planned), "Pass eps (and every other field) in the call.")


def _calls(text: str) -> Iterator[str]:
    """Yield each call with its arguments, up to the bracket that closes it."""
    for start in _CALL.finditer(text):
        depth = 1
        for end in range(start.end(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                yield text[start.start() : end + 1]
                break


def _planned(plan: AnyPlan) -> set[float]:
    if not isinstance(plan, PlanV2) or plan.restoration_preflight is None:
        return set()
    arms = [arm for group in plan.restoration_preflight.groups for arm in group.arms]
    return {arm.optimizer_config["eps"] for arm in arms if "eps" in arm.optimizer_config}


def _message(call: str, planned: list[float]) -> str:
    runs = f"{call} leaves eps out, so it runs with the SDK's default {SDK_DEFAULT_EPS:g}"
    if not planned:
        return f"{runs}; the plan names no eps anywhere"
    values = " and ".join(f"{value:g}" for value in planned)
    return f"{runs}, not the planned {values} (restoration_preflight)"
