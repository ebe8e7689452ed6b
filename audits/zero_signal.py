"""No policy was updated on nothing: every step had a group whose rewards differ.

Where all rollouts of a group have one reward, their advantages are 0 and the group carries no gradient. A step in which
every group is such still moves the weights (Adam's momentum, weight decay) and still counts as a training step; tools
that drop constant groups keep one so that the step is not empty. A training run in which that happened in every step
learned nothing from its rewards, whatever its curve says. Public cases: 60 of the 100 iterations of a published
tinker-cookbook arithmetic run; the DAPO paper (arXiv:2503.14476, section 3.2); TRL logs `frac_reward_zero_std`.

A step without a mixed group is a warning, and so is a minibatch update whose loss tokens all have advantage 0; a
training run (arm and seed) that had no mixed group in any step is a failure. The share of constant groups is printed
with every result and has no limit here: `zero_variance_group_fraction` watches it.

Where the plan says that advantages come from a critic, a group with one reward carries a gradient too: of such an arm a
step is without a signal where all its loss tokens have advantage 0.

Where rollouts were not logged, `env/all/by_group/frac_mixed` is read from the figures that the other tool logged.

What it cannot see: rewards that differ by noise alone, which look like a signal.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="every rollout step has a group whose rewards differ, or a critic's advantages that are not all 0",
    requires=("rollouts or scalars",),
    examines="derived_step_signal",
    mend="say how many steps trained on nothing; take prompts that are neither solved always nor never, or larger "
    "groups, and do not count steps without a signal as training",
    derived=("step_signal", "credits"),
)
