-- Steps that older weights seem to have sampled: by the sampler's version, and by its difference from the trainer.
-- rows:
WITH planned AS (
    SELECT CASE WHEN is_planned THEN 'fail' ELSE 'warn' END AS otherwise FROM derived_planned_groups
), enough AS (
    SELECT *, row_number() OVER (PARTITION BY arm, seed ORDER BY step) AS place
    FROM derived_sampler_steps
    WHERE n_tokens >= 100
), levels AS (
    SELECT
        *,
        median(mismatch) OVER (
            PARTITION BY arm, seed ORDER BY step ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING
        ) AS before
    FROM enough
), ends AS (
    SELECT
        arm, seed,
        max(mismatch) FILTER (WHERE place <= 2) AS early,
        median(mismatch) FILTER (WHERE place > n_steps - 3) AS late,
        max(step) AS last_step
    FROM enough
    JOIN (SELECT arm, seed, count(*) AS n_steps FROM enough GROUP BY ALL) USING (arm, seed)
    WHERE n_steps >= 5
    GROUP BY ALL
)
SELECT
    'version again' AS fault, otherwise AS severity, arm, seed, step,
    format('sampler version {} had sampled step {} already', version_seen_before, seen_before) AS detail
FROM derived_sampler_steps
CROSS JOIN planned
WHERE seen_before IS NOT NULL
UNION ALL
SELECT
    'several versions', otherwise, arm, seed, step,
    format('{} sampler versions in one step, the first {}', n_versions, first_version)
FROM derived_sampler_steps
CROSS JOIN planned
WHERE n_versions > 1
UNION ALL
SELECT
    'no version', 'inconclusive', arm, seed, step,
    format('{} of {} rollouts have no sampler version', n_rollouts - n_rollouts_with_version, n_rollouts)
FROM derived_sampler_steps
JOIN (
    SELECT arm, seed, sum(n_rollouts_with_version) AS n_known FROM derived_sampler_steps GROUP BY ALL
) USING (arm, seed)
WHERE n_known > 0 AND n_rollouts_with_version < n_rollouts
UNION ALL
SELECT
    'jump', 'fail', arm, seed, step,
    format('mean |current - sampler| {:.3g} nats over {} tokens, {:.3g} before', mismatch, n_tokens, before)
FROM levels
WHERE mismatch - 4 * mismatch_error > 5 * before + 0.01
UNION ALL
SELECT
    'grows', CASE WHEN late > 0.1 THEN 'fail' ELSE 'warn' END, arm, seed, last_step,
    format('mean |current - sampler| {:.3g} nats in the last 3 steps, {:.3g} in the first two', late, early)
FROM ends
WHERE late > 5 * early + 0.01
UNION ALL
SELECT
    'nothing to compare', 'inconclusive', arm, seed, NULL,
    format('{} steps; two with sampler versions, or two with 100 tokens of a first update, are the least', count(*))
FROM derived_sampler_steps
GROUP BY arm, seed
HAVING count(first_version) < 2 AND count(*) FILTER (WHERE n_tokens >= 100) < 2
ORDER BY ALL
-- notes:
SELECT format(
    '{} seed {}: {} steps, {} with a sampler version; mean |current - sampler| at the first update {} nats first, {} last',
    arm, seed, count(*), count(first_version),
    coalesce(format('{:.3g}', arg_min(mismatch, step) FILTER (WHERE mismatch IS NOT NULL)), 'no figure'),
    coalesce(format('{:.3g}', arg_max(mismatch, step) FILTER (WHERE mismatch IS NOT NULL)), 'no figure')
)
FROM derived_sampler_steps
GROUP BY arm, seed
ORDER BY arm, seed
