-- Items that break the pairing of the arms' final evaluations: one row a fault. An arm without any has nothing to pair.
WITH final AS (
    SELECT * FROM evals WHERE checkpoint = 'final'
), arms AS (
    SELECT DISTINCT arm, seed FROM final
), items AS (
    SELECT DISTINCT item_id FROM final
), cells AS (
    SELECT arms.arm, arms.seed, items.item_id, count(final.item_id) AS n_samples, count(DISTINCT final.sample) AS n_distinct
    FROM arms
    CROSS JOIN items
    LEFT JOIN final ON final.arm = arms.arm AND final.seed = arms.seed AND final.item_id = items.item_id
    GROUP BY ALL
), samples AS (
    SELECT item_id, max(n_samples) AS most FROM cells GROUP BY item_id
), failed_everywhere AS (
    SELECT arm, seed FROM final GROUP BY ALL HAVING count(*) = count(error)
), prompts_of_item AS (
    SELECT item_id, count(DISTINCT prompt_id) AS n_prompts FROM final GROUP BY item_id
)
SELECT 'missing' AS fault, item_id, arm, seed, 'the other arm has this item' AS detail, 'fail' AS severity
FROM cells WHERE n_samples = 0
UNION ALL
SELECT 'duplicate', item_id, arm, seed, (n_samples - n_distinct) || ' more rows with a sample number already seen', 'fail'
FROM cells WHERE n_samples > n_distinct
UNION ALL
SELECT 'samples', item_id, arm, seed, n_samples || ' samples, another arm has ' || most, 'fail'
FROM cells JOIN samples USING (item_id) WHERE n_samples BETWEEN 1 AND most - 1
UNION ALL
SELECT
    'error', item_id, final.arm, final.seed, error,
    CASE WHEN failed_everywhere.arm IS NULL THEN 'fail' ELSE 'inconclusive' END
FROM final
LEFT JOIN failed_everywhere ON failed_everywhere.arm = final.arm AND failed_everywhere.seed = final.seed
WHERE error IS NOT NULL
UNION ALL
SELECT 'not a number', item_id, arm, seed, coalesce(score::VARCHAR, 'null'), 'fail'
FROM final WHERE error IS NULL AND (score IS NULL OR NOT isfinite(score))
UNION ALL
SELECT 'outside 0 to 1', item_id, arm, seed, score::VARCHAR, 'fail'
FROM final WHERE error IS NULL AND isfinite(score) AND NOT score BETWEEN 0 AND 1
UNION ALL
SELECT 'prompt', item_id, NULL, NULL, n_prompts || ' different prompts for one item', 'fail'
FROM prompts_of_item WHERE n_prompts > 1
UNION ALL
SELECT 'not evaluated', NULL, arm, seed, 'this arm (' || role || ') has no final evaluation: there is nothing to pair with', 'inconclusive'
FROM derived_arms
ANTI JOIN arms USING (arm, seed)
WHERE role IN ('baseline', 'treatment')
ORDER BY ALL
