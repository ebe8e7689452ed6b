-- name: Loss tokens masked by the top-k divergence rule
-- unit: share
-- definition: dppo_{topk_divergence}@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: probability for topk_tv, nats for topk_kl
-- anchor: sampler_logprob, the behaviour policy at sampling
-- from: topk_loss_tokens
-- needs: candidates.sampler_logprob, candidates.current_logprob, candidates.advantage, candidates.is_sampled
-- parameters: topk_divergence, topk_delta (of the treatment's loss, where its divergence is topk_tv or topk_kl)
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- sign: masked only where the update pushes further away: advantage > 0 and p_current > p_sampler, or both reversed
-- zero advantage: never masked, counted in the denominator
-- source: arXiv:2602.04879v3, equations 12, 15 and 16
-- counted:
sign(advantage) * sign(p_difference) > 0 AND {topk_divergence} > {topk_delta}
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
-- reach: {topk_divergence} in the masked direction, against delta = {topk_delta}
max({topk_divergence}) FILTER (WHERE {candidates})
