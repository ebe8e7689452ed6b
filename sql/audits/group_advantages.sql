-- Groups of rollouts whose advantages do not follow from their rewards: one row a group and fault.
-- rows:
WITH planned AS (
    SELECT is_planned, group_size, CASE WHEN is_planned THEN 0 ELSE 2e-4 END AS rounding FROM derived_planned_groups
), finite AS (
    SELECT arm, seed, step, group_id, rollout_id, prompt_id, reward, advantage
    FROM rollouts
    WHERE arm NOT IN (SELECT arm FROM derived_credits WHERE credit = 'critic') AND (arm, seed, step, group_id) NOT IN (
        SELECT (arm, seed, step, group_id) FROM rollouts WHERE NOT isfinite(reward) OR NOT isfinite(advantage)
    )
), steps AS (
    SELECT arm, seed, step, count(DISTINCT group_id) AS n_groups, count(*) // count(DISTINCT group_id) AS size
    FROM finite
    GROUP BY ALL
), placed AS (
    SELECT
        finite.*, n_groups, size,
        row_number() OVER (PARTITION BY finite.arm, finite.seed, finite.step ORDER BY rollout_id, group_id) - 1 AS place,
        avg(reward) OVER (PARTITION BY finite.arm, finite.seed, finite.step, group_id) AS group_mean
    FROM finite
    JOIN steps USING (arm, seed, step)
), compared AS (
    SELECT
        *,
        reward - group_mean AS centred,
        reward - avg(reward) OVER (PARTITION BY arm, seed, step) AS over_batch,
        CASE WHEN prompt_id IS NOT NULL THEN reward - avg(reward) OVER (PARTITION BY arm, seed, step, prompt_id) END
            AS over_prompt,
        CASE WHEN prompt_id IS NOT NULL THEN reward - avg(reward) OVER (PARTITION BY arm, seed, prompt_id) END
            AS over_prompt_and_steps,
        reward - avg(reward) OVER (PARTITION BY arm, seed, step, place % n_groups) AS over_strides,
        reward - avg(reward) OVER (PARTITION BY arm, seed, step, place // size) AS over_neighbours
    FROM placed
), scaled AS (
    SELECT
        arm, seed, step, group_id,
        count(*) AS n,
        CASE WHEN max(abs(centred)) > 1e-9 * max(abs(reward)) THEN sum(advantage * centred) / sum(centred * centred) END
            AS factor,
        sqrt(sum(centred * centred) / count(*)) AS deviation,
        1e-6 * greatest(max(abs(reward)), max(abs(advantage))) + any_value(rounding) AS tolerance
    FROM compared
    CROSS JOIN planned
    GROUP BY ALL
), judged AS (
    SELECT
        arm, seed, step, group_id,
        any_value(n) AS n,
        any_value(factor) AS factor,
        any_value(deviation) AS deviation,
        any_value(tolerance) AS tolerance,
        max(abs(advantage - centred)) AS off,
        max(abs(advantage - factor * centred)) AS off_scaled,
        max(abs(advantage - over_batch)) AS off_batch,
        max(abs(advantage - over_prompt)) AS off_prompt,
        max(abs(advantage - over_prompt_and_steps)) AS off_prompt_and_steps,
        max(abs(advantage - over_strides)) AS off_strides,
        max(abs(advantage - over_neighbours)) AS off_neighbours,
        max(advantage - reward) - min(advantage - reward) AS spread_of_baseline,
        arg_max(rollout_id, abs(advantage - centred)) AS worst,
        arg_max(advantage, abs(advantage - centred)) AS worst_advantage,
        arg_max(centred, abs(advantage - centred)) AS worst_centred,
        avg(reward - advantage) AS baseline,
        avg(group_mean) AS group_mean
    FROM compared
    JOIN scaled USING (arm, seed, step, group_id)
    GROUP BY ALL
), wrong AS (
    SELECT
        *,
        CASE
            WHEN off_scaled <= tolerance AND factor > 0 THEN 'scaled'
            WHEN off_scaled <= tolerance AND factor < 0 AND abs(factor) > 1e-9 THEN 'sign turned'
            WHEN least(off_batch, off_prompt, off_prompt_and_steps, off_strides, off_neighbours) <= tolerance
                THEN 'wrong grouping'
            WHEN spread_of_baseline <= tolerance THEN 'not centred'
            ELSE 'does not follow'
        END AS fault
    FROM judged
    WHERE NOT off <= tolerance
), contents AS (
    SELECT
        arm, seed, step, group_id,
        count(*) AS n,
        count(DISTINCT prompt_id) AS n_prompts,
        count(*) FILTER (WHERE NOT isfinite(reward)) AS bad_rewards,
        count(*) FILTER (WHERE NOT isfinite(advantage)) AS bad_advantages,
        count(*) - count(advantage) AS no_advantages,
        min(rollout_id) FILTER (WHERE NOT (isfinite(reward) AND isfinite(advantage))) AS first_bad
    FROM rollouts
    GROUP BY ALL
)
SELECT
    fault,
    CASE WHEN fault = 'scaled' AND NOT (SELECT is_planned FROM planned) THEN 'warn' ELSE 'fail' END AS severity,
    arm, seed, step, group_id,
    CASE fault
        WHEN 'scaled' THEN format('{:.6g} times reward minus group mean: ', factor) || CASE
            WHEN abs(factor * deviation - 1) < 0.01 THEN 'divided by the standard deviation of the group'
            WHEN abs(factor * deviation * sqrt(n / (n - 1)) - 1) < 0.01
                THEN 'divided by the standard deviation of the group (n - 1)'
            WHEN abs(factor * (n - 1) / n - 1) < 1e-4 THEN 'n/(n - 1), the mean of the others was subtracted'
            ELSE 'a factor'
        END
        WHEN 'sign turned' THEN format('{:.6g} times reward minus group mean: better answers are pushed down', factor)
        WHEN 'wrong grouping' THEN CASE
            WHEN off_prompt <= tolerance THEN 'centred over the prompt of the step, which has several groups'
            WHEN off_batch <= tolerance THEN 'centred over the whole batch of the step'
            WHEN off_prompt_and_steps <= tolerance THEN 'centred over the prompt in all steps together'
            WHEN off_strides <= tolerance THEN 'centred over every n-th rollout: the samples were taken as interleaved'
            ELSE 'centred over neighbouring rollout ids: the samples are interleaved'
        END
        WHEN 'not centred' THEN format('baseline {:.6g} instead of the group mean {:.6g}', baseline, group_mean)
        ELSE format(
            'rollout {}: advantage {:.6g}, reward minus group mean {:.6g}', worst, worst_advantage, worst_centred
        )
    END AS detail
FROM wrong
UNION ALL
SELECT
    'not finite', 'fail', arm, seed, step, group_id,
    format('{} rewards and {} advantages of {} rollouts, first rollout {}', bad_rewards, bad_advantages, n, first_bad)
FROM contents
WHERE bad_rewards + bad_advantages > 0
UNION ALL
SELECT
    'no advantage', 'inconclusive', arm, seed, step, group_id,
    format('{} of {} rollouts have no advantage', no_advantages, n)
FROM contents
WHERE no_advantages > 0 AND arm NOT IN (SELECT arm FROM derived_credits WHERE credit = 'critic')
UNION ALL
SELECT
    'several prompts in one group', 'fail', arm, seed, step, group_id, format('{} prompts in {} rollouts', n_prompts, n)
FROM contents
WHERE n_prompts > 1
UNION ALL
SELECT 'group size', 'fail', arm, seed, step, group_id, format('{} rollouts, {} planned', n, group_size)
FROM contents
JOIN planned ON n != group_size
ORDER BY ALL
-- notes:
WITH centred AS (
    SELECT
        arm, seed, step, group_id, reward, advantage,
        abs(advantage - reward + avg(reward) OVER (PARTITION BY arm, seed, step, group_id)) AS off
    FROM rollouts
    WHERE isfinite(reward) AND coalesce(isfinite(advantage), true)
)
SELECT CASE any_value(credit)
    WHEN 'critic' THEN format(
        '{}: {:,} rollouts in {:,} groups; its advantages come from a critic and are not centred by group: '
        '`audit critic` measures them',
        arm, count(*), count(DISTINCT (seed, step, group_id))
    )
    ELSE format(
        '{}: {:,} rollouts in {:,} groups; largest difference of an advantage from reward minus group mean {}',
        arm, count(*), count(DISTINCT (seed, step, group_id)), coalesce(format('{:.3g}', max(off)), 'not logged')
    ) || CASE any_value(credit) WHEN 'preference' THEN '; trained on pairs instead' ELSE '' END
END
FROM centred
LEFT JOIN derived_credits USING (arm)
GROUP BY arm
ORDER BY arm
