-- name: Mean length of a completion
-- unit: tokens
-- definition: mean_completion_tokens@log/rollouts
-- denominator: rollouts of the step
-- from: rollouts
-- needs: rollouts.n_tokens
-- arm: all
-- over: mean_of_steps
-- source: the rollouts table
-- partials:
sum(n_tokens) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
