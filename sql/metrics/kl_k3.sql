-- name: KL from sampler to policy, estimator k3
-- unit: nats
-- definition: kl_k3@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: log-probability and ratio, before any truncation
-- anchor: sampler_logprob, the behaviour policy at sampling: KL(mu || pi)
-- sign: mean of ratio - 1 - log ratio; unbiased, never negative
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: avg(abs(ratio - 1) * (exp(2 * {u}) - 1) + exp(2 * {u}) - 1 - 2 * {u})
-- source: Schulman 2020, Approximating KL divergence, k3
-- partials:
sum(ratio - 1 - log_ratio) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
