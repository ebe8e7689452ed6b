"""The losses differ only off-policy, and the plan trains on-policy.

With one update on each fresh batch the current policy is still the sampler, r = 1 up to numerical mismatch, and
neither a clip nor a mask fires: both arms compute the same gradient. Arms that differ in their advantages or in a KL
penalty as well, and arms with a preference loss, do not.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for one update a batch with two losses."""
    if not isinstance(plan, Plan) or plan.rollout.updates_per_batch > 1:
        return
    alike: dict[object, set[str]] = {}
    for arm in plan.arms:
        loss = plan.losses[arm.loss]
        if loss.kind != "preference":
            alike.setdefault((arm.advantage, loss.kl_coefficient), set()).add(arm.loss)
    if any(len(losses) > 1 for losses in alike.values()):
        yield Finding(
            "rollout.updates_per_batch",
            "1 update on each fresh batch: r is 1 up to numerical mismatch, neither clip nor mask can fire, "
            "and the arms train alike",
            "Plan at least 2 updates a batch, or expect a tie.",
        )
