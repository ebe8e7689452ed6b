-- name: Largest mismatch of sampler and trainer before any drift
-- unit: nats
-- definition: abs_logprob_difference_max@sampler/loss_tokens
-- denominator: loss tokens of the first update, zero advantage included, pooled over the steps
-- scale: log-probability, not probability
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none, both directions
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: all
-- update: 0
-- over: pooled
-- moves by: max(2 * {u})
-- source: TRL's sampling_logp_difference/max
-- partials:
max(abs(log_ratio)) AS largest,
count(*) AS denominator
-- finish:
max(largest)
