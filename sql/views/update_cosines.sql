-- The cosine between the update direction with the estimated advantages and that with the Monte Carlo ones, from the
-- norms of both gradients and of their sum: one row a measured step; null where a gradient has no length.
SELECT
    arm, seed, step, states,
    CASE
        WHEN estimated_norm * monte_carlo_norm > 0
            THEN least(greatest(
                (sum_norm * sum_norm - estimated_norm * estimated_norm - monte_carlo_norm * monte_carlo_norm)
                / (2 * estimated_norm * monte_carlo_norm), -1), 1)
    END AS cosine
FROM update_directions
