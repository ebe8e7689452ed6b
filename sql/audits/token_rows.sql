-- Rollouts whose token rows are not their completion: one row a rollout, update and fault.
-- rows:
WITH planned AS (
    SELECT
        CASE WHEN is_planned THEN 'fail' ELSE 'warn' END AS otherwise,
        CASE WHEN is_planned THEN 0 ELSE 2e-4 END AS rounding
    FROM derived_planned_groups
), logged AS (
    SELECT
        arm, seed, step, "update", rollout_id,
        count(*) AS n_rows,
        min(position) AS first_position,
        max(position) AS last_position,
        sum(position::HUGEINT) AS position_sum,
        sum(position::HUGEINT * position) AS square_sum,
        min(advantage) FILTER (WHERE value IS NULL)::DOUBLE AS lowest_advantage,
        max(advantage) FILTER (WHERE value IS NULL)::DOUBLE AS highest_advantage
    FROM tokens
    GROUP BY ALL
), sampled AS (
    SELECT
        arm, seed, step, rollout_id,
        count(*) AS n_rollouts, any_value(n_tokens) AS n_tokens, any_value(advantage) AS advantage
    FROM rollouts
    GROUP BY ALL
), compared AS (
    SELECT
        *,
        n_rows = last_position - first_position + 1
            AND position_sum = n_rows::HUGEINT * (first_position + last_position) / 2
            AND square_sum = (
                last_position::HUGEINT * (last_position + 1) * (2 * last_position + 1)
                - (first_position::HUGEINT - 1) * first_position * (2 * first_position - 1)
            ) / 6 AS is_a_run,
        greatest(abs(lowest_advantage - advantage), abs(highest_advantage - advantage)) AS off
    FROM logged
    LEFT JOIN sampled USING (arm, seed, step, rollout_id)
    CROSS JOIN planned
), faults AS (
    SELECT
        *,
        CASE
            WHEN n_rollouts IS NULL THEN 'no such rollout'
            WHEN n_rows > n_tokens THEN 'too many rows'
            WHEN NOT is_a_run AND n_rows >= last_position - first_position + 1 THEN 'position twice'
            WHEN first_position != 0 OR last_position != n_tokens - 1 OR n_rows != n_tokens THEN 'rows missing'
        END AS row_fault
    FROM compared
), updates_logged AS (
    SELECT
        arm, seed, step, "update", n_loss_tokens,
        count(n_rows) AS n_logged,
        coalesce(sum(n_rows), 0) AS n_rows,
        coalesce(sum(greatest(n_tokens - n_rows, 0)), 0) AS n_missing
    FROM (SELECT arm, seed, step, "update", sum(n_loss_tokens) AS n_loss_tokens FROM updates GROUP BY ALL)
    LEFT JOIN compared USING (arm, seed, step, "update")
    GROUP BY ALL
)
SELECT
    row_fault AS fault, CASE WHEN row_fault = 'rows missing' THEN otherwise ELSE 'fail' END AS severity,
    arm, seed, step, "update", rollout_id,
    format(
        '{} token rows at positions {} to {}, {} tokens sampled',
        n_rows, first_position, last_position, coalesce(n_tokens::VARCHAR, 'no')
    ) AS detail
FROM faults
WHERE row_fault IS NOT NULL
UNION ALL
SELECT
    'another advantage', otherwise, arm, seed, step, "update", rollout_id,
    format('tokens have {:.6g} to {:.6g}, the rollout {:.6g}', lowest_advantage, highest_advantage, advantage)
FROM faults
WHERE n_rollouts = 1 AND NOT off <= 1e-6 * abs(advantage) + rounding
    AND arm NOT IN (SELECT arm FROM derived_credits WHERE credit = 'preference')
UNION ALL
SELECT 'rollout twice', 'fail', arm, seed, step, NULL, rollout_id, format('{} rollouts have this id', n_rollouts)
FROM sampled
WHERE n_rollouts > 1
UNION ALL
SELECT
    'rollouts missing', otherwise, arm, seed, step, "update", NULL,
    format('{} token rows of {} rollouts, the update had {} loss tokens', n_rows, n_logged, n_loss_tokens)
FROM updates_logged
CROSS JOIN planned
WHERE n_rows + n_missing < n_loss_tokens
ORDER BY ALL
-- notes:
SELECT format(
    '{}: {:,} of {:,} rollouts with a completion token have no token row{}',
    arm, count(*) FILTER (WHERE NOT has_rows), count(*),
    CASE any_value(credit) WHEN 'preference' THEN ': they are in no pair, and its loss trains on pairs' ELSE '' END
)
FROM (
    SELECT
        arm,
        EXISTS (
            SELECT 1 FROM tokens
            WHERE tokens.arm = rollouts.arm AND tokens.seed = rollouts.seed AND tokens.step = rollouts.step
                AND tokens.rollout_id = rollouts.rollout_id
        ) AS has_rows
    FROM rollouts
    WHERE n_tokens > 0
)
LEFT JOIN derived_credits USING (arm)
GROUP BY arm
ORDER BY arm
