-- Drift of every minibatch update: quantiles of |p_current - p_sampler| over its loss tokens, with the step's reward.
-- DuckDB takes NaN as greater than everything, so an update with numbers that are not finite has NaN quantiles.
WITH rewards AS (
    SELECT arm, seed, step, avg(reward) AS reward
    FROM rollouts
    GROUP BY arm, seed, step
), quantiles AS (
    SELECT
        arm, seed, step, "update",
        count(*) AS loss_tokens,
        count(*) FILTER (WHERE NOT is_valid) AS invalid,
        quantile_cont(binary_tv, [0.5, 0.9, 0.99]) AS q
    FROM loss_tokens
    GROUP BY arm, seed, step, "update"
)
SELECT
    arm, seed, step, "update", loss_tokens, invalid,
    CASE WHEN invalid = 0 THEN q[1] ELSE 'NaN'::DOUBLE END AS abs_p_q50,
    CASE WHEN invalid = 0 THEN q[2] ELSE 'NaN'::DOUBLE END AS abs_p_q90,
    CASE WHEN invalid = 0 THEN q[3] ELSE 'NaN'::DOUBLE END AS abs_p_q99,
    reward
FROM quantiles
LEFT JOIN rewards USING (arm, seed, step)
