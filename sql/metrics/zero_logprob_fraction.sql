-- name: Sampled tokens with a log-probability of exactly 0
-- unit: share
-- definition: zero_sampler_logprob@sampler/loss_tokens
-- denominator: loss tokens of all updates, zero advantage included
-- scale: log-probability
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob
-- arm: all
-- over: mean_of_steps
-- watch: rises by 0.05
-- if it moves: log-probabilities that are missing and were padded with 0, or greedy sampling: see the share that the trainer doubts
-- source: 0 is certainty or a missing value that was padded; greedy or top-k 1 sampling gives it for every token
-- counted:
sampler_logprob = 0
-- candidates:
true
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE sampler_logprob = 0 AND current_logprob < -0.01) AS doubtful
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of loss tokens with sampler_logprob 0 that the trainer gives less than 0.99
sum(doubtful) / sum(denominator)
-- reach: sampler_logprob, against 0
max(sampler_logprob)
