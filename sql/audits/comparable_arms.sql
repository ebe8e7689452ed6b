-- What differs between the arms' final evaluations beside the arm: items, prompts, settings.
-- rows:
WITH recorded AS (
    SELECT arm, seed, executed AS role FROM derived_settings WHERE setting = 'arms.role'
), contrast AS (
    SELECT count(DISTINCT role) = 2 AS is_there FROM recorded WHERE role IN ('baseline', 'treatment')
), arms AS (
    SELECT arm, seed
    FROM recorded, contrast
    WHERE NOT is_there OR role IN ('baseline', 'treatment')
), answered AS (
    SELECT arm, seed, item_id, prompt_sha256
    FROM derived_evaluation_prompts
    SEMI JOIN arms USING (arm, seed)
    WHERE checkpoint = 'final'
), everything AS (
    SELECT count(DISTINCT item_id) AS n_all FROM answered
), counted AS (
    SELECT arms.arm, arms.seed, count(DISTINCT item_id) AS n_items
    FROM arms
    LEFT JOIN answered USING (arm, seed)
    GROUP BY arms.arm, arms.seed
), asked AS (
    SELECT item_id, count(DISTINCT prompt_sha256) AS n_prompts
    FROM answered
    GROUP BY item_id
    HAVING n_prompts > 1
), stated AS (
    SELECT setting, arm, seed, executed, source
    FROM derived_settings
    SEMI JOIN arms USING (arm, seed)
    WHERE relation = 'equal' AND executed IS NOT NULL AND setting <> 'evaluation.seed'
        AND (
            setting ^@ 'evaluation.' OR setting ^@ 'dataset.'
            OR setting IN ('aggregation', 'rollout.renderer', 'rollout.stop')
        )
), compared AS (
    SELECT
        setting,
        count(DISTINCT executed) AS n_values,
        count(DISTINCT (arm, seed)) FILTER (WHERE source = 'run.json arms') AS n_stated,
        count(DISTINCT (arm, seed)) AS n_known,
        string_agg(DISTINCT arm || ': ' || executed, '; ' ORDER BY arm || ': ' || executed) AS said
    FROM stated
    GROUP BY setting
)
SELECT
    'not evaluated' AS fault, 'inconclusive' AS severity, arm, seed, NULL AS setting, NULL AS item_id,
    'this arm has no final evaluation' AS detail
FROM counted WHERE n_items = 0
UNION ALL
SELECT
    'other items', 'fail', arm, seed, NULL, NULL,
    format('{:,} of the {:,} items that the arms answered are missing', n_all - n_items, n_all)
FROM counted, everything WHERE n_items BETWEEN 1 AND n_all - 1
UNION ALL
SELECT 'other prompt', 'fail', NULL, NULL, NULL, item_id, n_prompts || ' different prompts for one item'
FROM asked
UNION ALL
SELECT
    CASE setting
        WHEN 'aggregation' THEN 'other aggregation'
        WHEN 'evaluation.samples_per_item' THEN 'samples an item'
        ELSE 'other setting'
    END,
    'fail', NULL, NULL, setting, NULL, said
FROM compared WHERE n_values > 1
UNION ALL
SELECT 'stated by some arms', 'inconclusive', NULL, NULL, setting, NULL, said || '; the other arms state nothing'
FROM compared, (SELECT count(*) AS n_arms FROM arms)
WHERE n_values = 1 AND n_stated > 0 AND n_known < n_arms
ORDER BY ALL
-- notes:
WITH recorded AS (
    SELECT arm, seed, executed AS role FROM derived_settings WHERE setting = 'arms.role'
), contrast AS (
    SELECT count(DISTINCT role) = 2 AS is_there FROM recorded WHERE role IN ('baseline', 'treatment')
), arms AS (
    SELECT arm, seed
    FROM recorded, contrast
    WHERE NOT is_there OR role IN ('baseline', 'treatment')
), stated AS (
    SELECT setting, arm, executed
    FROM derived_settings
    SEMI JOIN arms USING (arm, seed)
    WHERE relation = 'equal' AND executed IS NOT NULL AND setting <> 'evaluation.seed'
        AND (
            setting ^@ 'evaluation.' OR setting ^@ 'dataset.'
            OR setting IN ('aggregation', 'rollout.renderer', 'rollout.stop')
        )
), compared AS (
    SELECT
        setting,
        count(DISTINCT executed) AS n_values,
        string_agg(DISTINCT arm || ': ' || executed, '; ' ORDER BY arm || ': ' || executed) AS said
    FROM stated
    GROUP BY setting
), final AS (
    SELECT * FROM derived_evaluation_prompts WHERE checkpoint = 'final'
)
SELECT note
FROM (
    SELECT
        1 AS place, arm AS label,
        format(
            '{}: items {:,}, seeds {}, samples an item {}',
            arm, count(DISTINCT item_id), count(DISTINCT seed),
            min(n_samples) || CASE WHEN min(n_samples) < max(n_samples) THEN ' to ' || max(n_samples) ELSE '' END
        ) AS note
    FROM final
    GROUP BY arm
    UNION ALL
    SELECT
        2, NULL,
        format(
            'prompts are compared by hash on {:,} of {:,} items',
            count(DISTINCT item_id) FILTER (WHERE prompt_sha256 IS NOT NULL), count(DISTINCT item_id)
        )
    FROM final
    UNION ALL
    SELECT 0, setting, format('{} differs: {}', setting, said)
    FROM compared
    WHERE n_values > 1
)
ORDER BY place, label
