-- name: Loss tokens with a ratio outside [1 - eps, 1 + eps]
-- unit: share
-- definition: ratio_outside_range@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included
-- scale: ratio of probabilities; eps is a distance from 1, not an absolute bound
-- anchor: sampler_logprob, the behaviour policy at sampling
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob, tokens.advantage
-- parameters: eps (of the baseline's loss)
-- arm: treatment
-- update: 1
-- over: mean_of_steps
-- sign: none, both sides whatever the advantage: many frameworks report this as clip fraction, and most of it never binds
-- zero advantage: counted where its ratio is outside
-- source: the two-sided count beside the binding one of grpo_clip_fraction
-- counted:
ratio > 1 + {eps} OR ratio < 1 - {eps}
-- candidates:
true
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE advantage <> 0 AND {counted}) AS with_advantage
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of them that are outside with a non-zero advantage
sum(with_advantage) / nullif(sum(numerator), 0)
-- reach: |ratio - 1|, against eps = {eps}
max(abs(ratio - 1))
