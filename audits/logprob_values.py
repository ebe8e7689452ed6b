"""Every logged number of a loss token is one, and no log-probability of 0 stands for a missing value.

A log-probability that is NaN, infinite or above 0 spoils the sums it enters. A missing value that was padded with 0
says that the token was certain: its ratio becomes exp(current_logprob) and the token counts as drifted. Public cases:
vllm-project/vime#70, rllm-org/rllm#816, thinking-machines-lab/tinker-cookbook#396 (many exactly 0).

An exact 0 alone is no fault, and no share of zeros is: in float32 log p is 0 for every p above 1 - 3e-8, and a model
that copies digits or closes a turn is often that sure. It is a `padded zero` where something else says otherwise: at
the first update, where policy and sampler are the same, the other side is below -1 (p < 0.37); or the token's own
entropy or surprisal, of the forward pass, is above 1 nat while current_logprob is 0. Between -0.1 and -1 it is a
warning: bfloat16 logits of 64 are half a nat apart, so that their difference is 0 for a p that is not 1.

`above 0` begins at 1e-6 nats, what float32 rounds to.

What it cannot see: a padded zero at a token that was nearly certain, zeros on both sides, and, after the first update,
whether a 0 of the sampler is padded or the policy moved. The shares of exact zeros are printed with every result.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="every log-probability, advantage and entropy is a finite number, and an exact 0 is not a padded gap",
    requires=("tokens",),
    examines="tokens",
    mend="find where values went missing between sampler and log (another tokenisation, a padded batch, the first or "
    "last token of a completion) and leave such tokens out of the loss instead of giving them a 0",
)
