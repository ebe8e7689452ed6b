-- name: Mean of |p_current - p_sampler|
-- unit: probability
-- definition: abs_p_difference_mean@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: probability, not log-probability
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none, both directions
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: avg((p_sampler + p_current) * (exp({u}) - 1))
-- source: mean over the sampled tokens of the binary total variation, arXiv:2602.04879v3, equation 13
-- partials:
sum(binary_tv) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
