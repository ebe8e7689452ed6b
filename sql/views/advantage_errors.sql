-- How far estimates stand from Monte Carlo ones: one row an arm, seed and quantity, and with seed null one over all seeds.
-- quantity: advantage (before the normalisation) or value (of arms with a critic). A batch is a seed and step.
-- mean_squared = offset_squared + scale + residual; the noise of the Monte Carlo estimates is taken out of all of them
-- and of the slope, and is left in mean_absolute and correlation. Defined as in analysis/advantage_errors.py.
WITH states AS (
    SELECT
        arm, seed, step, 'advantage' AS quantity,
        advantage AS estimate, monte_carlo_advantage AS truth, monte_carlo_advantage_error AS deviation
    FROM state_values
    UNION ALL
    SELECT arm, seed, step, 'value', value, monte_carlo_value, monte_carlo_value_error
    FROM state_values
    WHERE value IS NOT NULL
), batches AS (
    SELECT
        arm, seed, step, quantity,
        count(*) AS n,
        sum(estimate - truth) AS error,
        sum(abs(estimate - truth)) AS absolute,
        sum((estimate - truth) * (estimate - truth)) AS squared,
        sum(deviation * deviation) AS noise,
        count(*) * covar_pop(estimate, truth) AS together,
        count(*) * var_pop(truth) AS truth_squared,
        count(*) * var_pop(estimate) AS estimate_squared
    FROM states
    GROUP BY arm, seed, step, quantity
), pooled AS (
    SELECT
        arm, seed, quantity,
        sum(n)::BIGINT AS states,
        count(*) AS batches,
        sum(error) / sum(n) AS bias,
        sum(absolute) / sum(n) AS mean_absolute,
        (sum(squared) - sum(noise)) / sum(n) AS mean_squared,
        sum(noise) / sum(n) AS noise,
        sum((error * error - noise) / n) / sum(n) AS offset_squared,
        sum(together) / sum(n) AS covariance,
        sum(truth_squared) / sum(n) AS truth_variance,
        sum(estimate_squared) / sum(n) AS estimate_variance,
        (sum(truth_squared) - sum(noise * (1 - 1 / n))) / sum(n) AS variance
    FROM batches
    GROUP BY GROUPING SETS ((arm, quantity), (arm, seed, quantity))
), correlated AS (
    SELECT
        arm, seed, quantity,
        CASE WHEN min(estimate) < max(estimate) AND min(truth) < max(truth) THEN corr(estimate, truth) END AS correlation
    FROM states
    GROUP BY GROUPING SETS ((arm, quantity), (arm, seed, quantity))
), sloped AS (
    SELECT
        pooled.*,
        CASE WHEN variance > 1e-12 * greatest(truth_variance, estimate_variance) THEN covariance / variance END AS slope
    FROM pooled
)
SELECT
    sloped.arm, sloped.seed, sloped.quantity, states, batches, bias, mean_absolute, mean_squared, noise, correlation, slope,
    offset_squared,
    (slope - 1) * (slope - 1) * variance AS scale,
    mean_squared - offset_squared - (slope - 1) * (slope - 1) * variance AS residual
FROM sloped
JOIN correlated
    ON correlated.arm = sloped.arm AND correlated.seed IS NOT DISTINCT FROM sloped.seed
    AND correlated.quantity = sloped.quantity
