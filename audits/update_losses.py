"""Every optimiser step was taken on a finite loss over at least one token.

A loss that is NaN or infinite once leaves NaN in the weights or, where the tool skips such steps in silence, an update
that the log counts and the policy never had. An update over no token is an optimiser step on momentum alone.

A failure: after a non-finite loss nobody knows which policy was trained. What it cannot see: a gradient that overflowed
below a finite loss.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="the loss of every update is a finite number over at least one token",
    requires=("updates",),
    examines="updates",
    mend="look at the update's tokens (audit integrity --only logprob_values), go back to the checkpoint before it and "
    "train again; a policy that was updated on such a loss cannot be reported",
)
