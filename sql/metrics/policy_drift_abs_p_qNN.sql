-- name: NN quantile of |p_current - p_sampler|
-- unit: probability
-- definition: abs_p_difference_qNN@sampler/loss_tokens
-- denominator: loss tokens of the update, zero advantage included, pooled over the steps
-- scale: probability, not log-probability
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none, both directions
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob
-- arm: treatment
-- update: 1
-- over: pooled
-- moves by: max((p_sampler + p_current) * (exp({u}) - 1))
-- warn below first update times: 1.5
-- source: exact order statistics with linear interpolation (quantile_cont), Hyndman and Fan 1996, type 7
-- values:
binary_tv
-- finish:
quantile_cont(value, {q})
