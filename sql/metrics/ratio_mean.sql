-- name: Mean probability ratio
-- unit: ratio
-- definition: ratio_mean@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: ratio of probabilities, before any truncation
-- anchor: sampler_logprob, the behaviour policy at sampling: p_current / p_sampler
-- sign: none; its expectation is 1, so that a value away from 1 says that the sampler is not what it is taken for
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: avg(ratio * (exp(2 * {u}) - 1))
-- source: E_mu [pi / mu] = 1
-- partials:
sum(ratio) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
