"""Sampler and trainer log-probabilities are of one temperature.

A sampler may return log-probabilities of the distribution that it drew from (divided by the temperature, cut by top-p)
or of the model as it is; where the trainer computes the other kind, every ratio is off by a constant slope, clips and
masks act on tokens that did not drift, and nothing raises an error. Public cases: huggingface/trl#4159 (ratio 2.0 on
policy at a temperature that is not 1), huggingface/trl#6789.

At the first update the trainer's values are compared with the sampler's, training run by training run. Both have
errors, so that the slope lies between r*b and b/r (Frisch's bounds; b the ratio of the standard deviations, r the
correlation): noise alone, on one side or both, cannot push 1 out of them. It is a failure where they exclude 0.97 to
1.03 by 4 standard errors: a temperature of 0.9 or 1.1 gives a slope of about 0.95 or 1.06, and half of that is the
limit. The temperature is read off the log-odds of tokens that both sides hold likelier than not: with one dominant
token they scale by the temperature itself (a tenth off below 1.5 in simulation, a quarter at 2).

At least 100 tokens, a standard deviation of 0.1 nats on both sides (below it, rounding to bfloat16 is as large as the
variation) and a correlation of 0.9, below which the bounds are wider than a tenth; else it is inconclusive.

What it cannot see: one temperature that both sides apply and the plan does not state (the settings say it), a cut by
top-p or top-k, and a sampler whose weights are old enough to be sharper or flatter: look at sampler_staleness first.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no constant slope stands between sampler and trainer log-probabilities, as another temperature would leave",
    requires=("tokens",),
    examines='tokens WHERE "update" = 0',
    mend="let both sides compute log-probabilities at the temperature that was sampled with (vLLM: "
    "logprobs_mode=processed_logprobs, or divide the trainer's logits by it), then train again",
)
