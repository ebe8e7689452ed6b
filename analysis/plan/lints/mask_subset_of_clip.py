"""The treatment's mask can only fire where the baseline's clip fires too.

Binary TV is |pi - mu| = mu * |r - 1| <= |r - 1|. With delta >= eps every token with non-zero advantage that the
mask removes is also removed by the ratio clip, so the treatment only un-masks tokens and never masks one that
the baseline keeps. That is a legitimate experiment, but not the one that "adds a mask" describes. It does not
hold for binary KL, nor for delta < eps.
"""

from collections.abc import Iterator

from analysis.plan.finding import Finding, LintInfo
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan

LINT = LintInfo(severity="warn", formats=(3,))


def findings(plan: AnyPlan) -> Iterator[Finding]:
    """Yield a finding for each pair of a binary TV mask and a ratio clip with delta >= eps."""
    if not isinstance(plan, Plan):
        return
    used = {arm.loss for arm in plan.arms}
    for mask_id, mask in plan.losses.items():
        for clip_id, clip in plan.losses.items():
            if mask.delta is None or clip.eps is None or mask.divergence != "binary_tv":
                continue
            if {mask_id, clip_id} <= used and mask.delta >= clip.eps:
                yield Finding(
                    f"losses.{mask_id}.delta",
                    f"over tokens with non-zero advantage the mask is a subset of the PPO clip: delta {mask.delta:g} "
                    f">= eps {clip.eps:g} (losses.{clip_id}) and |pi - mu| = mu |r - 1| <= |r - 1|, "
                    "so this mask never removes a token that the clip keeps",
                    f"Say so in the hypothesis, or choose delta below {clip.eps:g}.",
                )
