-- name: Completions that ended at the token limit
-- unit: share
-- definition: stop_reason_length@log/rollouts
-- denominator: rollouts of the step
-- from: rollouts
-- needs: rollouts.stop_reason
-- arm: all
-- over: mean_of_steps
-- sign: truncation; other frameworks call this clip_ratio too, and it has nothing to do with the ratio clip
-- zero advantage: counted
-- watch: rises by 0.05
-- if it moves: completions run into max_tokens: their reward says nothing about the answer
-- source: the rollouts table, stop_reason length
-- counted:
stop_reason = 'length'
-- candidates:
true
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE {counted} AND reward > 0) AS rewarded
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of rollouts that were cut off and got a reward above 0
sum(rewarded) / sum(denominator)
-- reach: tokens of a completion
max(n_tokens)
