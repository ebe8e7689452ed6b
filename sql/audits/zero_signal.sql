-- Steps and training runs without a group whose rewards differ: one row each.
-- rows:
WITH steps AS (
    SELECT
        derived_step_signal.*,
        coalesce(credit, 'group') = 'critic' AS has_critic,
        CASE WHEN has_critic THEN updates_without_signal = updates ELSE mixed_share <= 0 END AS has_no_signal,
        CASE WHEN groups IS NULL THEN '' ELSE format(' ({} of {} groups have one reward)', constant_groups, groups) END
            AS counted
    FROM derived_step_signal
    LEFT JOIN derived_credits USING (arm)
)
SELECT
    'never a signal' AS fault, 'fail' AS severity, arm, seed, NULL::INTEGER AS step,
    CASE WHEN bool_and(has_critic) THEN format('every loss token had advantage 0 in all of {} steps', count(*))
        ELSE format('no group had two different rewards in any of {} steps, by {}', count(*), any_value(source))
    END AS detail
FROM steps
GROUP BY arm, seed
HAVING bool_and(has_no_signal)
UNION ALL
SELECT
    'step without a signal', 'warn', arm, seed, step,
    CASE WHEN has_critic THEN format('every loss token of {} updates had advantage 0', updates)
        ELSE format('no group had two different rewards{}, by {}', counted, source)
    END
FROM steps
WHERE has_no_signal
UNION ALL
SELECT
    'update without a signal', 'warn', arm, seed, step,
    format('{} of {} updates had loss tokens of advantage 0 only', updates_without_signal, updates)
FROM steps
WHERE NOT has_no_signal AND updates_without_signal > 0
UNION ALL
SELECT 'not a number', 'inconclusive', arm, seed, step, format('share of mixed groups {}, by {}', mixed_share, source)
FROM steps
WHERE NOT isfinite(mixed_share)
UNION ALL
SELECT
    'no loss token', 'inconclusive', arm, seed, step,
    'its advantages come from a critic, and no loss token says what they were'
FROM steps
WHERE has_critic AND updates IS NULL
ORDER BY ALL
-- notes:
SELECT CASE any_value(credit) WHEN 'critic' THEN format(
    '{}: {:,} of {:,} steps whose loss tokens all have advantage 0; a critic gives groups with one reward a gradient too',
    arm, count(*) FILTER (WHERE updates_without_signal = updates), count(*)
) ELSE format(
    '{}: {:,} of {:,} steps without a mixed group; {}',
    arm, count(*) FILTER (WHERE mixed_share <= 0), count(*),
    CASE WHEN sum(groups) IS NULL THEN format('mean share of constant groups {:.3f} as logged', avg(1 - mixed_share))
        ELSE format(
            '{:,} of {:,} groups have one reward ({:.3f})',
            sum(constant_groups)::BIGINT, sum(groups)::BIGINT, sum(constant_groups) / sum(groups)
        )
    END
) END
FROM derived_step_signal
LEFT JOIN derived_credits USING (arm)
GROUP BY arm
ORDER BY arm
