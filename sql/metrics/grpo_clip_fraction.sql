-- name: Loss tokens with a binding ratio clip
-- unit: share
-- definition: grpo_ratio_clip_binding@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: ratio of probabilities; eps is a distance from 1, not an absolute bound
-- anchor: sampler_logprob, the behaviour policy at sampling
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob, tokens.advantage
-- parameters: eps (of the baseline's loss)
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- sign: binding only: advantage > 0 and ratio > 1 + eps, or advantage < 0 and ratio < 1 - eps
-- zero advantage: never clipped, counted in the denominator
-- source: arXiv:1707.06347, equation 7; on the treatment's log it is the counterfactual share
-- counted:
(advantage > 0 AND ratio > 1 + {eps}) OR (advantage < 0 AND ratio < 1 - {eps})
-- candidates:
sign(advantage) * sign(log_ratio) > 0
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE advantage <> 0) AS with_advantage
-- finish:
sum(numerator) / sum(denominator)
-- beside: share over loss tokens with non-zero advantage
sum(numerator) / nullif(sum(with_advantage), 0)
-- reach: |ratio - 1| in the clipped direction, against eps = {eps}
max(abs(ratio - 1)) FILTER (WHERE {candidates})
