-- name: KL from sampler to policy, estimator k1
-- unit: nats
-- definition: kl_k1@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: log-probability
-- anchor: sampler_logprob, the behaviour policy at sampling: KL(mu || pi)
-- sign: mean of sampler_logprob - current_logprob; unbiased, may be negative
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: avg(2 * {u})
-- source: Schulman 2020, Approximating KL divergence, k1
-- partials:
sum(-log_ratio) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
