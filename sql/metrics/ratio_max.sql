-- name: Largest probability ratio
-- unit: ratio
-- definition: ratio_max@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included, pooled over the steps
-- scale: ratio of probabilities, before any truncation
-- anchor: sampler_logprob, the behaviour policy at sampling: p_current / p_sampler
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: pooled
-- moves by: max(ratio * (exp(2 * {u}) - 1))
-- source: maximum of pi / mu
-- partials:
max(ratio) AS largest,
count(*) AS denominator
-- finish:
max(largest)
