"""A check of the activation gate that passes or fails whatever happens.

A gate is evidence only if it could have come out the other way: a limit that admits every possible value proves
nothing, and a check on an update that is never executed, or on the first one, where the policy has not moved yet,
has nothing to measure.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Check, Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each check that cannot fail or cannot be measured."""
    if not isinstance(plan, Plan) or not plan.activation_gate.applicable:
        return
    for index, check in enumerate(plan.activation_gate.checks):
        path = f"activation_gate.checks[{index}]"
        yield from _update(check, path, plan.rollout.updates_per_batch)
        yield from _limits(check, path)
    if plan.activation_gate.pilot_steps > plan.rollout.rollout_batches:
        yield Finding(
            "activation_gate.pilot_steps",
            f"the pilot has {plan.activation_gate.pilot_steps} steps, the full run only {plan.rollout.rollout_batches}",
            "Plan a pilot that is shorter than the run.",
            severity="warn",
        )


def _update(check: Check, path: str, updates: int) -> Iterator[Finding]:
    if check.update is not None and check.update >= updates:
        yield Finding(
            f"{path}.update",
            f"{check.metric} is checked on update {check.update}, but the plan executes only 0 to {updates - 1}",
            f"Plan more than {check.update} updates a batch, or check an earlier update.",
        )
    elif _needs_drift(check.metric) and (check.update == 0 or updates == 1):
        yield Finding(
            f"{path}.update",
            f"{check.metric} is measured on the first update of a fresh batch, where the policy has not moved yet",
            "Plan at least 2 updates a batch and check a later one (update 1).",
        )


def _limits(check: Check, path: str) -> Iterator[Finding]:
    if not _is_share(check.metric):
        return
    low, high = check.min, check.max
    if (low is None or low <= 0.0) and (high is None or high >= 1.0):
        yield Finding(
            path,
            f"{check.metric} is a share and always lies in [0, 1], and these limits admit all of it",
            "Give a min above 0 or a max below 1.",
        )
    elif (low is not None and low > 1.0) or (high is not None and high < 0.0):
        yield Finding(
            path,
            f"{check.metric} is a share and always lies in [0, 1], and these limits admit none of it",
            "Give limits in [0, 1]; a percentage is not a share.",
        )


def _is_share(metric: str) -> bool:
    """Whether a metric lies in [0, 1] by its name: shares and absolute differences of probabilities."""
    return metric.endswith(("_fraction", "_share", "_rate")) or "_abs_p_" in metric


def _needs_drift(metric: str) -> bool:
    return "drift" in metric or "masked" in metric or "clip" in metric
