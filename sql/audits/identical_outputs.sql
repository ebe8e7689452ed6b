-- Arms whose final outputs, or whose training logs after the first batch, are another arm's byte for byte.
-- rows:
WITH twins AS (
    SELECT
        *,
        row_number() OVER same AS place,
        first_value(arm) OVER same AS twin_arm,
        first_value(seed) OVER same AS twin_seed,
        first_value(is_base) OVER same AS twin_is_base
    FROM derived_output_fingerprints
    WINDOW same AS (PARTITION BY kind, n, fingerprint ORDER BY is_base DESC, arm, seed)
), judged AS (
    SELECT
        *,
        n_tokens < 300 AS is_short,
        NOT coalesce(has_signal, true) AS is_explained,
        CASE WHEN twin_is_base THEN 'the base model' ELSE format('{} seed {}', twin_arm, twin_seed) END AS twin
    FROM twins
    WHERE place > 1
)
SELECT
    CASE
        WHEN is_explained THEN 'no training signal'
        WHEN twin_is_base THEN 'outputs of base'
        ELSE 'same ' || kind
    END AS fault,
    CASE WHEN is_short OR is_explained THEN 'warn' ELSE 'fail' END AS severity,
    arm, seed, twin, n, n_tokens,
    CASE kind
        WHEN 'outputs'
            THEN format('all {:,} completions are those of {}, {:,} tokens beyond gold answers', n, twin, n_tokens)
        ELSE format('all {:,} token rows after the first batch are those of {}', n, twin)
    END || CASE WHEN is_short THEN ': too few to tell' ELSE '' END AS detail
FROM judged
UNION ALL
SELECT
    'nothing to compare', 'inconclusive', any_value(arm), any_value(seed), NULL, any_value(n), any_value(n_tokens),
    'only one arm has completions, and the base model has none'
FROM derived_output_fingerprints
WHERE kind = 'outputs'
HAVING count(*) = 1
ORDER BY ALL
-- notes:
WITH roles AS (
    SELECT arm, seed, executed AS role FROM derived_settings WHERE setting = 'arms.role'
), final AS (
    SELECT arm, seed, role, item_id, sample, completion
    FROM evals
    LEFT JOIN roles USING (arm, seed)
    WHERE checkpoint = 'final' AND completion IS NOT NULL
), compared AS (
    SELECT final.arm || ' against base' AS pair, final.completion = base.completion AS same
    FROM final
    JOIN evals AS base USING (item_id, sample)
    WHERE base.checkpoint = 'base' AND base.completion IS NOT NULL
    UNION ALL
    SELECT treatment.arm || ' against ' || baseline.arm || ', same seed', treatment.completion = baseline.completion
    FROM final AS treatment
    JOIN final AS baseline USING (seed, item_id, sample)
    WHERE treatment.role = 'treatment' AND baseline.role = 'baseline'
)
SELECT format('{}: {:,} of {:,} completions are the same', pair, count(*) FILTER (WHERE same), count(*))
FROM compared
GROUP BY pair
ORDER BY pair
