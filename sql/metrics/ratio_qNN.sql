-- name: NN quantile of the probability ratio
-- unit: ratio
-- definition: ratio_qNN@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included, pooled over the steps
-- scale: ratio of probabilities, before any truncation
-- anchor: sampler_logprob, the behaviour policy at sampling: p_current / p_sampler
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: pooled
-- moves by: quantile_cont(ratio, {q}) * (exp(2 * max({u})) - 1)
-- source: exact order statistics with linear interpolation (quantile_cont), Hyndman and Fan 1996, type 7
-- values:
ratio
-- finish:
quantile_cont(value, {q})
