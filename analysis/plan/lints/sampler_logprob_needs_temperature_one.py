"""The rollout temperature is not 1, so that the logged sampler probabilities are not those it sampled with.

A Tinker service returns the log-probabilities of the unscaled model. At another temperature the behaviour policy
is another distribution: the ratio, the mask and the drift would be measured from a policy that sampled nothing.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="error", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding where the rollout temperature is not 1."""
    if isinstance(plan, Plan) and plan.rollout.temperature != 1.0:
        yield Finding(
            "rollout.temperature",
            f"at temperature {plan.rollout.temperature:g} the service's sampler_logprob is not the behaviour policy's: "
            "every ratio, mask and drift figure would be measured from the wrong distribution",
            "Sample at temperature 1.",
        )
