-- Checkpoints on the way that were evaluated on test items, and stated choices that saw test items or the reward.
-- rows:
WITH rules AS (
    SELECT arm, seed, executed AS said, lower(trim(executed)) AS rule
    FROM derived_settings
    WHERE setting = 'checkpoint_selected_by' AND executed IS NOT NULL
), judged AS (
    SELECT
        *,
        CASE
            WHEN regexp_matches(rule, 'test|train|reward') THEN 'seen'
            WHEN rule IN ('last', 'last_step', 'last step', 'final') THEN 'last'
            WHEN rule IN ('validation', 'validation_score', 'validation items', 'none', 'fixed', 'plan') THEN 'honest'
            ELSE 'unknown'
        END AS kind
    FROM rules
), final_items AS (
    SELECT DISTINCT item_id FROM derived_evaluation_prompts WHERE checkpoint = 'final'
), on_the_way AS (
    SELECT
        arm, seed, checkpoint, count(*) AS n,
        count(*) FILTER (WHERE split = 'test') AS n_test,
        count(*) FILTER (WHERE split IS NULL AND final_items.item_id IS NOT NULL) AS n_final
    FROM derived_evaluation_prompts
    LEFT JOIN final_items USING (item_id)
    WHERE checkpoint NOT IN ('base', 'final') AND arm <> 'base'
    GROUP BY arm, seed, checkpoint
), last_taken AS (
    SELECT bool_and(kind = 'last') AS is_stated FROM judged
), steps AS (
    SELECT arm, seed, TRY_CAST(executed AS DOUBLE) AS n_steps
    FROM derived_settings
    WHERE setting IN ('rollout.rollout_batches', 'activation_gate.pilot_steps')
), evaluated AS (
    SELECT
        settings.arm, settings.seed, TRY_CAST(executed AS DOUBLE) AS step,
        coalesce(n_steps, (SELECT max(n_steps) FROM steps)) AS n_steps
    FROM derived_settings AS settings
    LEFT JOIN steps USING (arm, seed)
    WHERE setting = 'checkpoint_step'
)
SELECT
    'test items on the way' AS fault,
    CASE WHEN coalesce(is_stated, false) THEN 'warn' ELSE 'fail' END AS severity,
    arm, seed, checkpoint,
    CASE
        WHEN n_test > 0 THEN format('{:,} of {:,} evaluated items are test items', n_test, n)
        ELSE format('{:,} of {:,} evaluated items are those of the final evaluation', n_final, n)
    END AS detail
FROM on_the_way, last_taken
WHERE n_test + n_final > 0
UNION ALL
SELECT
    CASE kind WHEN 'seen' THEN 'chosen by what it saw' ELSE 'unknown choice' END,
    CASE kind WHEN 'seen' THEN 'fail' ELSE 'inconclusive' END,
    arm, seed, 'final', 'the checkpoint was selected by ' || said
FROM judged
WHERE kind IN ('seen', 'unknown')
UNION ALL
SELECT
    'not the last step', 'fail', arm, seed, 'final',
    format('the final checkpoint is of step {:.0f}, {:.0f} steps were trained', step, n_steps)
FROM evaluated
WHERE step < n_steps
ORDER BY ALL
-- notes:
WITH final AS (
    SELECT DISTINCT item_id FROM derived_evaluation_prompts WHERE checkpoint = 'final'
), on_the_way AS (
    SELECT bool_or(split = 'test' OR split IS NULL AND final.item_id IS NOT NULL) AS saw_test
    FROM derived_evaluation_prompts
    LEFT JOIN final USING (item_id)
    WHERE checkpoint NOT IN ('base', 'final') AND arm <> 'base'
    GROUP BY arm, seed, checkpoint
)
SELECT format(
    'checkpoints evaluated between base and final: {}, of them on test items or the final evaluation''s items: {}',
    count(*), count(*) FILTER (WHERE saw_test)
)
FROM on_the_way
