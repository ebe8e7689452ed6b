-- name: Loss tokens whose numbers are no numbers
-- unit: share
-- definition: invalid_numbers@sampler/loss_tokens
-- denominator: loss tokens of all updates, zero advantage included
-- scale: NaN or infinite log-probability or advantage, or a log-probability above 0 beyond what float32 rounds to
-- anchor: sampler_logprob and current_logprob
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob, tokens.current_logprob, tokens.advantage
-- arm: all
-- over: mean_of_steps
-- source: IEEE 754; DuckDB takes NaN as greater than everything, so that such a row would count as masked
-- counted:
NOT is_valid
-- candidates:
true
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE NOT isfinite(sampler_logprob)) AS by_sampler
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of loss tokens whose sampler_logprob is not finite
sum(by_sampler) / sum(denominator)
-- reach: sampler_logprob, against 0
max(sampler_logprob) FILTER (WHERE isfinite(sampler_logprob))
