-- Each stored completion that has a gold answer, with what was recorded of it, in a fixed order.
SELECT
    'evals' AS source, arm, seed, checkpoint, NULL::INTEGER AS step, item_id AS id, sample,
    completion, gold, lower(stop_reason) AS stop_reason, extraction AS recorded_extraction,
    extracted AS recorded_extracted, score AS recorded_score,
    coalesce(correct, CASE score WHEN 1 THEN true WHEN 0 THEN false END) AS recorded
FROM evals
WHERE completion IS NOT NULL AND gold IS NOT NULL AND nullif(trim(error), '') IS NULL
UNION ALL
SELECT
    'rollouts', arm, seed, NULL, step, rollout_id::VARCHAR, NULL,
    completion, gold, lower(stop_reason), extraction,
    extracted, reward,
    CASE WHEN NOT isfinite(reward) THEN NULL WHEN reward >= 0.5 THEN true WHEN reward <= 0 THEN false END
FROM rollouts
WHERE completion IS NOT NULL AND gold IS NOT NULL
ORDER BY source, arm, seed, checkpoint, step, id, sample, completion
