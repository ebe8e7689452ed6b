"""Sampler and trainer log-probabilities stand at the same token.

One list of log-probabilities that is shifted by a token against the other makes every importance ratio, every clip and
every mask meaningless, and raises no error: the loss still falls. Public cases: PrimeIntellect-ai/prime-rl#1525,
modelscope/ms-swift#8196, marin-community/marin#1731, opendilab/LightRFT#53 (divergence from 11 to 0.037 after the fix).

At the first update of a rollout batch the policy is the sampler, so that both lists are the same but for rounding.
Within each rollout the sampler's value at position p is correlated with the trainer's at p + lag, for lags -2 to 2.

- `shifted`: another lag than 0 has the higher correlation, by more than 4 standard errors of the difference of two
  Fisher-transformed correlations (one false alarm in 30,000; a run has a few hundred comparisons).
- `unrelated`: the correlation at lag 0 is below 0.5 by more than 4 standard errors. A correlation of 0.71 would mean
  that the engines' disagreement varies as much as the log-probabilities themselves; below 0.5 it varies three times
  as much, which is no rounding.

Judged for each training run (arm and seed) and each step that has at least 100 pairs of tokens at lags 0, -1 and 1; a
lag of 2 counts where it has as many. Log-probabilities that vary by less than 0.1 nats (standard deviation) cannot be
told from rounding (bfloat16 logits between 16 and 32 are an eighth apart), and fewer than 100 pairs not from chance:
a training run with no more than that is inconclusive. Of a step with more than 512 rollout ids, every n-th id is taken.

What it cannot see: a shift of both lists together, completions of one token, and what happens after the first update.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="sampler and trainer log-probabilities are aligned: they agree best at the same position",
    requires=("tokens",),
    examines='tokens WHERE "update" = 0',
    mend="compare one completion token by token: the log-probability at position p belongs to token p, and the first "
    "completion token is predicted by the last prompt token; then train again, since ratios and masks were wrong",
)
