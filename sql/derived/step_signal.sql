-- One row a rollout step: how many groups have more than one reward, and how many updates had an advantage that is not 0.
-- Where rollouts were not logged, the share of mixed groups that another tool logged stands for them.
WITH logged AS (
    SELECT
        arm, seed, step,
        count(*) AS groups,
        count(*) FILTER (WHERE is_valid AND lowest_reward = highest_reward) AS constant_groups
    FROM reward_groups
    GROUP BY ALL
), reported AS (
    SELECT arm, seed, step, max(value) AS mixed_share
    FROM scalars
    WHERE name = 'env/all/by_group/frac_mixed'
    GROUP BY ALL
), updates_of_tokens AS (
    SELECT arm, seed, step, "update", max(abs(advantage)) AS largest_advantage
    FROM tokens
    GROUP BY ALL
), trained AS (
    SELECT
        arm, seed, step,
        count(*) AS updates,
        count(*) FILTER (WHERE largest_advantage = 0) AS updates_without_signal
    FROM updates_of_tokens
    GROUP BY ALL
)
SELECT
    arm, seed, step, groups, constant_groups,
    coalesce(1 - constant_groups / groups, mixed_share) AS mixed_share,
    CASE WHEN groups IS NULL THEN 'scalars env/all/by_group/frac_mixed' ELSE 'rollouts' END AS source,
    updates, updates_without_signal
FROM logged
FULL JOIN reported USING (arm, seed, step)
LEFT JOIN trained USING (arm, seed, step)
ORDER BY arm, seed, step
