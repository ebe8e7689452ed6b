-- Training runs whose trainer log-probabilities are the sampler's times a slope that is not 1.
-- rows:
WITH first_update AS (
    SELECT
        arm, seed,
        CASE WHEN isfinite(sampler_logprob) AND isfinite(current_logprob) THEN sampler_logprob::DOUBLE END AS mu,
        CASE WHEN isfinite(sampler_logprob) AND isfinite(current_logprob) THEN current_logprob::DOUBLE END AS pi
    FROM tokens
    WHERE "update" = 0
), odds AS (
    SELECT
        arm, seed, mu, pi,
        CASE WHEN least(mu, pi) > ln(0.5) AND greatest(mu, pi) < -0.01 THEN mu - ln(1 - exp(mu)) END AS mu_log_odds,
        CASE WHEN least(mu, pi) > ln(0.5) AND greatest(mu, pi) < -0.01 THEN pi - ln(1 - exp(pi)) END AS pi_log_odds
    FROM first_update
), fitted AS (
    SELECT
        arm, seed,
        count(mu) AS n,
        coalesce(least(stddev_pop(mu), stddev_pop(pi)), 0) AS deviation,
        corr(mu, pi) AS r,
        stddev_pop(pi) / nullif(stddev_pop(mu), 0) AS b,
        sqrt(greatest(1 - corr(mu, pi) ** 2, 0) / count(mu)) AS relative_error,
        count(mu_log_odds) AS n_likely,
        CASE WHEN count(mu_log_odds) >= 100 THEN stddev_pop(pi_log_odds) / nullif(stddev_pop(mu_log_odds), 0) END
            AS temperature
    FROM odds
    GROUP BY arm, seed
), judged AS (
    SELECT
        *,
        n >= 100 AND deviation >= 0.1 AND r >= 0.5
            AND (r * b * (1 - 4 * relative_error) > 1.03 OR b / r * (1 + 4 * relative_error) < 0.97) AS is_sloped
    FROM fitted
)
SELECT
    'another temperature' AS fault, 'fail' AS severity, arm, seed, round(b, 4) AS slope, round(temperature, 2) AS temperature,
    format('slope between {:.3f} and {:.3f}, correlation {:.3f}, {} tokens; ', r * b, b / r, r, n) || coalesce(
        format(
            'as if the sampler had divided by a temperature of {:.2f}, or the trainer by {:.2f} ({} likely tokens)',
            temperature, 1 / temperature, n_likely
        ),
        'too few likely tokens to name the temperature'
    ) AS detail
FROM judged
WHERE is_sloped
UNION ALL
SELECT
    CASE WHEN n < 100 THEN 'too few tokens' WHEN deviation < 0.1 THEN 'no variation' ELSE 'too noisy' END,
    'inconclusive', arm, seed, NULL, NULL,
    format(
        '{} tokens at the first update (100 are needed), standard deviation {:.3g} nats (0.1), correlation {} (0.9)',
        n, deviation, coalesce(format('{:.3f}', r), 'none')
    )
FROM judged
WHERE NOT coalesce(is_sloped, false) AND NOT coalesce(n >= 100 AND deviation >= 0.1 AND r >= 0.9, false)
ORDER BY ALL
-- notes:
SELECT format(
    '{} seed {}: standard deviation of current_logprob {} times that of sampler_logprob, over {:,} tokens',
    arm, seed,
    coalesce(format('{:.4f}', stddev_pop(current_logprob::DOUBLE) / nullif(stddev_pop(sampler_logprob::DOUBLE), 0)), 'no'),
    count(*)
)
FROM tokens
WHERE "update" = 0 AND isfinite(sampler_logprob) AND isfinite(current_logprob)
GROUP BY arm, seed
ORDER BY arm, seed
