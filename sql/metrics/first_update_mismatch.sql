-- name: Mismatch of sampler and trainer: mean |log-probability difference| before any drift
-- unit: nats
-- definition: abs_logprob_difference_mean@sampler/loss_tokens
-- denominator: loss tokens of the first update, zero advantage included
-- scale: log-probability, not probability (verl's rollout_probs_diff is in probability)
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none, both directions
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: all
-- update: 0
-- over: mean_of_steps
-- moves by: avg(2 * {u})
-- watch: rises by 0.001, in the gate too
-- if it moves: sampler and trainer compute different log-probabilities: stale sampler weights (a prefix cache, a failed weight sync), another precision or kernel, or a temperature applied on one side only; compare step 0 with the step of the onset
-- source: at the first update of a batch the policy is the sampler, so that any difference is between the engines; TRL's sampling_logp_difference/mean
-- partials:
sum(abs(log_ratio)) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
