-- Share of loss tokens that a rule takes away over thresholds, by arm and update: the mean of the steps' shares.
SELECT
    arm, "update", threshold,
    avg(n_taken / n_tokens) AS share, sum(n_taken)::BIGINT AS taken, sum(n_tokens)::BIGINT AS of_tokens
FROM (
    SELECT
        arm, seed, step, "update", threshold,
        count(*) FILTER (WHERE {counted}) AS n_taken,
        count(*) AS n_tokens
    FROM loss_tokens, (SELECT unnest([{thresholds}]) AS threshold)
    GROUP BY ALL
)
GROUP BY ALL
ORDER BY ALL
