-- Updates whose loss is no finite number, or which had no token.
-- rows:
SELECT
    CASE WHEN isfinite(loss) THEN 'no token' ELSE 'not finite' END AS fault,
    arm, seed, step, "update", format('loss {} over {} tokens', loss, n_loss_tokens) AS detail
FROM updates
WHERE NOT isfinite(loss) OR n_loss_tokens <= 0
ORDER BY ALL
