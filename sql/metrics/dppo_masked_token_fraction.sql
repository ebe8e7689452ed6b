-- name: Loss tokens masked by the divergence rule
-- unit: share
-- definition: dppo_{divergence}@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: probability for binary_tv, nats for binary_kl
-- anchor: sampler_logprob, the behaviour policy at sampling
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob, tokens.advantage
-- parameters: divergence, delta (of the treatment's loss, where its divergence is binary_tv or binary_kl)
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- sign: masked only where the update pushes further away: advantage > 0 and p_current > p_sampler, or both reversed
-- zero advantage: never masked, counted in the denominator
-- source: arXiv:2602.04879v3, equations 12 to 14
-- counted:
sign(advantage) * sign(p_difference) > 0 AND {divergence} > {delta}
-- candidates:
sign(advantage) * sign(p_difference) > 0
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE advantage <> 0) AS with_advantage
-- finish:
sum(numerator) / sum(denominator)
-- beside: share over loss tokens with non-zero advantage
sum(numerator) / nullif(sum(with_advantage), 0)
-- reach: {divergence} in the masked direction, against delta = {delta}
max({divergence}) FILTER (WHERE {candidates})
