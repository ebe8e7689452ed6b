"""A claim about the training algorithm rests on too few training seeds.

Items measure how well two checkpoints were measured, not how far another seed would have landed. A claim whose
unit is the training seed needs at least three seeds an arm to have a spread at all.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.legacy import PlanV2
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(2, 3))
MINIMUM_SEEDS = 3


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where the unit is the training seed and fewer than three are registered."""
    if not isinstance(plan, Plan | PlanV2) or plan.decision_rule.unit != "training_seeds":
        return
    seeds = len(set(plan.decision_rule.seeds))
    if seeds < MINIMUM_SEEDS:
        yield Finding(
            "decision_rule.seeds",
            f"the unit is training_seeds, and {seeds} an arm cannot carry a claim about the algorithm",
            f"Register at least {MINIMUM_SEEDS} seeds an arm, or claim only these checkpoints "
            "(unit fixed_checkpoint_items).",
        )
