-- Steps and training runs without a group whose rewards differ: one row each.
-- rows:
WITH steps AS (
    SELECT
        *,
        mixed_share <= 0 AS has_no_signal,
        CASE WHEN groups IS NULL THEN '' ELSE format(' ({} of {} groups have one reward)', constant_groups, groups) END
            AS counted
    FROM derived_step_signal
)
SELECT
    'never a signal' AS fault, 'fail' AS severity, arm, seed, NULL::INTEGER AS step,
    format('no group had two different rewards in any of {} steps, by {}', count(*), any_value(source)) AS detail
FROM steps
GROUP BY arm, seed
HAVING bool_and(has_no_signal)
UNION ALL
SELECT
    'step without a signal', 'warn', arm, seed, step,
    format('no group had two different rewards{}, by {}', counted, source)
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
ORDER BY ALL
-- notes:
SELECT format(
    '{}: {:,} of {:,} steps without a mixed group; {}',
    arm, count(*) FILTER (WHERE mixed_share <= 0), count(*),
    CASE WHEN sum(groups) IS NULL THEN format('mean share of constant groups {:.3f} as logged', avg(1 - mixed_share))
        ELSE format(
            '{:,} of {:,} groups have one reward ({:.3f})',
            sum(constant_groups)::BIGINT, sum(groups)::BIGINT, sum(constant_groups) / sum(groups)
        )
    END
)
FROM derived_step_signal
GROUP BY arm
ORDER BY arm
