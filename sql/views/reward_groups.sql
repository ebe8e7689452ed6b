-- Groups of rollouts of one prompt in one step, with the spread of their rewards. is_valid: every reward is finite.
SELECT
    arm, seed, step, group_id,
    count(*) AS n_rollouts,
    count(DISTINCT reward) AS n_rewards,
    min(reward) AS lowest_reward,
    max(reward) AS highest_reward,
    bool_and(isfinite(reward)) AS is_valid
FROM rollouts
GROUP BY arm, seed, step, group_id
