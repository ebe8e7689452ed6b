-- The probabilities of the sampled tokens under both policies: by arm, update and twentieth of p_sampler, over all seeds
-- and steps. Loss tokens that are no numbers stand in a row of their own, without limits and means.
-- Summed in decimals, which are exact: the order in which threads read the rows leaves no trace in the last bit.
WITH binned AS (
    SELECT
        arm, "update",
        CASE WHEN is_valid THEN least(floor(20 * p_sampler), 19)::INTEGER END AS bin,
        TRY_CAST(p_sampler AS DECIMAL(18, 15)) AS p_sampler,
        TRY_CAST(p_current AS DECIMAL(18, 15)) AS p_current
    FROM loss_tokens
)
SELECT
    arm, "update",
    bin / 20 AS lower,
    (bin + 1) / 20 AS upper,
    count(*) AS loss_tokens,
    CASE WHEN bin IS NOT NULL THEN avg(p_sampler) END AS p_sampler,
    CASE WHEN bin IS NOT NULL THEN avg(p_current) END AS p_current
FROM binned
GROUP BY arm, "update", bin
