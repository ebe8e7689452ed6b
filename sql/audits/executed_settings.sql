-- Settings that were executed otherwise than planned, and planned ones of which nobody logged the executed value.
-- rows:
SELECT
    CASE
        WHEN executed IS NULL THEN 'not logged'
        WHEN setting = 'arms' THEN 'other arms'
        WHEN setting IN ('rollout.rollout_batches', 'activation_gate.pilot_steps') THEN 'other number of steps'
        ELSE 'other than planned'
    END AS fault,
    CASE WHEN executed IS NULL THEN 'inconclusive' ELSE 'fail' END AS severity,
    arm, seed, setting, planned, executed, source,
    'planned ' || planned || coalesce(', executed ' || executed, ', nothing says what ran') AS detail
FROM derived_settings
WHERE planned IS NOT NULL
    AND NOT coalesce(
        executed = planned
            OR relation = 'at most' AND TRY_CAST(executed AS DOUBLE) <= TRY_CAST(planned AS DOUBLE),
        false
    )
ORDER BY ALL
-- notes:
WITH compared AS (
    SELECT
        setting,
        CASE
            WHEN bool_or(executed IS NOT NULL AND source NOT LIKE 'run.json%' AND relation = 'equal') THEN 'seen'
            WHEN bool_or(executed IS NOT NULL AND source LIKE 'run.json%') THEN 'stated'
            ELSE 'unknown'
        END AS evidence
    FROM derived_settings
    WHERE planned IS NOT NULL
    GROUP BY setting
)
SELECT
    format(
        'planned settings: {}; seen in the logs: {}, stated by run.json alone: {}, logged by nobody: {}',
        count(*), count(*) FILTER (WHERE evidence = 'seen'), count(*) FILTER (WHERE evidence = 'stated'),
        count(*) FILTER (WHERE evidence = 'unknown')
    )
FROM compared
UNION ALL
SELECT 'stated by run.json alone: ' || left(string_agg(setting, ', ' ORDER BY setting), 1000)
FROM compared
WHERE evidence = 'stated'
HAVING count(*) > 0
ORDER BY ALL
