-- name: Total variation of the policy from the sampler, estimated from the sampled tokens
-- unit: probability
-- definition: total_variation_estimate@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: probability, 0 to 1; a mean over sampled tokens is unbiased for the mean over their contexts
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: avg(0.5 * ratio * (exp(2 * {u}) - 1))
-- source: TV(mu, pi) = E_mu |pi/mu - 1| / 2
-- partials:
sum(abs(ratio - 1)) AS total,
count(*) AS denominator
-- finish:
0.5 * sum(total) / sum(denominator)
