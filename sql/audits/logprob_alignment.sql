-- Training runs and steps whose sampler and trainer log-probabilities agree better at another position, or nowhere.
-- rows:
WITH strides AS (
    SELECT arm, seed, step, min(rollout_id) AS first_id, 1 + (max(rollout_id) - min(rollout_id)) // 512 AS stride
    FROM tokens
    WHERE "update" = 0
    GROUP BY ALL
), chosen AS (
    SELECT
        arm, seed, step, rollout_id, position,
        CASE WHEN isfinite(sampler_logprob) AND isfinite(current_logprob) THEN sampler_logprob::DOUBLE END AS mu,
        CASE WHEN isfinite(sampler_logprob) AND isfinite(current_logprob) THEN current_logprob::DOUBLE END AS pi
    FROM tokens
    JOIN strides USING (arm, seed, step)
    WHERE "update" = 0 AND (rollout_id - first_id) % stride = 0
), shifted AS (
    SELECT
        arm, seed, step, mu, pi, position,
        lag(pi, 2) OVER along AS pi_minus_2, lag(position, 2) OVER along AS at_minus_2,
        lag(pi, 1) OVER along AS pi_minus_1, lag(position, 1) OVER along AS at_minus_1,
        lead(pi, 1) OVER along AS pi_plus_1, lead(position, 1) OVER along AS at_plus_1,
        lead(pi, 2) OVER along AS pi_plus_2, lead(position, 2) OVER along AS at_plus_2
    FROM chosen
    WINDOW along AS (PARTITION BY arm, seed, step, rollout_id ORDER BY position)
), pairs AS (
    SELECT
        arm, seed, step, mu, pi,
        CASE WHEN at_minus_2 = position - 2 THEN pi_minus_2 END AS pi_minus_2,
        CASE WHEN at_minus_1 = position - 1 THEN pi_minus_1 END AS pi_minus_1,
        CASE WHEN at_plus_1 = position + 1 THEN pi_plus_1 END AS pi_plus_1,
        CASE WHEN at_plus_2 = position + 2 THEN pi_plus_2 END AS pi_plus_2
    FROM shifted
), correlations AS (
    SELECT
        arm, seed, step,
        count(mu) AS n,
        least(regr_count(mu, pi_minus_1), regr_count(mu, pi_plus_1)) AS n_1,
        coalesce(least(stddev_pop(mu), stddev_pop(pi)), 0) AS deviation,
        corr(mu, pi) AS at_0,
        coalesce(nullif(corr(mu, pi_minus_1), 'NaN'), 0) AS at_minus_1,
        coalesce(nullif(corr(mu, pi_plus_1), 'NaN'), 0) AS at_plus_1,
        CASE WHEN regr_count(mu, pi_minus_2) >= 100 THEN nullif(corr(mu, pi_minus_2), 'NaN') END AS at_minus_2,
        CASE WHEN regr_count(mu, pi_plus_2) >= 100 THEN nullif(corr(mu, pi_plus_2), 'NaN') END AS at_plus_2
    FROM pairs
    GROUP BY GROUPING SETS ((arm, seed), (arm, seed, step))
), best AS (
    SELECT
        *,
        n >= 100 AND n_1 >= 100 AND deviation >= 0.1 AS can_tell,
        greatest(at_minus_2, at_minus_1, at_plus_1, at_plus_2) AS elsewhere
    FROM correlations
), judged AS (
    SELECT
        *,
        atanh(least(at_0, 0.999999)) AS z,
        atanh(least(elsewhere, 0.999999)) AS z_elsewhere,
        format(
            'correlation {:.3f} at lag 0, {:.3f} and {:.3f} at lags -1 and 1, {} and {} at lags -2 and 2; {} tokens',
            at_0, at_minus_1, at_plus_1,
            coalesce(format('{:.3f}', at_minus_2), 'none'), coalesce(format('{:.3f}', at_plus_2), 'none'), n
        ) AS measured
    FROM best
)
SELECT
    CASE WHEN z_elsewhere - z > 4 * sqrt(2 / (n_1 - 3)) THEN 'shifted' ELSE 'unrelated' END AS fault,
    'fail' AS severity, arm, seed, step, round(at_0, 6) AS correlation,
    CASE
        WHEN NOT z_elsewhere - z > 4 * sqrt(2 / (n_1 - 3)) THEN NULL
        WHEN elsewhere = at_minus_1 THEN -1
        WHEN elsewhere = at_plus_1 THEN 1
        WHEN elsewhere = at_minus_2 THEN -2
        ELSE 2
    END AS best_lag,
    measured AS detail
FROM judged
WHERE can_tell AND (z_elsewhere - z > 4 * sqrt(2 / (n_1 - 3)) OR z + 4 / sqrt(n - 3) < atanh(0.5))
UNION ALL
SELECT
    CASE WHEN n < 100 OR n_1 < 100 THEN 'too few tokens' ELSE 'no variation' END,
    'inconclusive', arm, seed, step, NULL, NULL,
    format(
        '{} tokens at the first update, {} pairs of neighbours (100 are needed), standard deviation {:.3g} nats '
        || '(0.1 is needed)', n, n_1, deviation
    )
FROM judged
WHERE step IS NULL AND NOT can_tell
ORDER BY ALL
-- notes:
SELECT format(
    '{} seed {}: correlation {} at the same position, over {:,} tokens of the first update',
    arm, seed, coalesce(format('{:.4f}', corr(sampler_logprob, current_logprob)), 'none'), count(*)
)
FROM tokens
WHERE "update" = 0 AND isfinite(sampler_logprob) AND isfinite(current_logprob)
GROUP BY arm, seed
ORDER BY arm, seed
