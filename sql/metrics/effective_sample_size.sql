-- name: Effective sample size of the importance weights, as a share
-- unit: share
-- definition: effective_sample_size@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: ratio of probabilities, before any truncation (verl reports it after truncation, which hides the tail)
-- anchor: sampler_logprob, the behaviour policy at sampling: p_current / p_sampler
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- moves by: max(exp(8 * {u}) - 1)
-- watch: falls by 0.05
-- if it moves: fewer tokens carry the gradient: the policy drifts further from its sampler inside a batch; look at ratio_max, learning rate and updates_per_batch
-- source: Kong 1992: (sum w)^2 / (n sum w^2)
-- partials:
sum(ratio) AS weight,
sum(ratio * ratio) AS squared_weight,
count(*) AS denominator
-- finish:
sum(weight) * sum(weight) / (sum(denominator) * sum(squared_weight))
