-- name: Mean reward
-- unit: reward
-- definition: mean_reward@log/rollouts
-- denominator: rollouts of the step
-- from: rollouts
-- needs: rollouts.reward
-- arm: all
-- over: mean_of_steps
-- source: the rollouts table
-- partials:
sum(reward) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
