-- name: Masked tokens as verl counts them
-- unit: share
-- definition: verl_dppo_{divergence}@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: probability for binary_tv, nats for binary_kl
-- anchor: sampler_logprob, the behaviour policy at sampling
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob, tokens.advantage
-- parameters: divergence, delta (of the treatment's loss, where its divergence is binary_tv or binary_kl)
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- sign: advantage > 0 masks an increase, any other advantage a decrease
-- zero advantage: takes the negative rule and is counted, though its gradient is 0 anyway
-- source: verl-project/verl 1dda039b, core_algos.py, actor/pg_clipfrac of dppo_tv and dppo_kl; to compare with its dashboards
-- counted:
CASE WHEN advantage > 0 THEN p_difference > 0 ELSE p_difference < 0 END AND {divergence} > {delta}
-- candidates:
CASE WHEN advantage > 0 THEN p_difference > 0 ELSE p_difference < 0 END
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE advantage = 0 AND {counted}) AS without_advantage
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of loss tokens counted although their advantage is zero
sum(without_advantage) / sum(denominator)
-- reach: {divergence} in the masked direction, against delta = {delta}
max({divergence}) FILTER (WHERE {candidates})
