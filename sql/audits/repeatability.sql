-- Items that repeats of one evaluation answer differently, and a contrast whose sign depends on the repeat.
-- rows:
WITH samples AS (
    SELECT arm, seed, checkpoint, item_id, sample, score, md5(completion) AS text
    FROM evals
    WHERE nullif(trim(error), '') IS NULL
), items AS (
    SELECT
        arm, seed, checkpoint, item_id,
        count(*) AS n, count(DISTINCT score) AS n_scores, min(score) AS lowest, max(score) AS highest,
        count(DISTINCT text) AS n_texts
    FROM samples
    GROUP BY arm, seed, checkpoint, item_id
    HAVING count(DISTINCT sample) > 1
), by_repeat AS (
    SELECT
        sample,
        round(
            avg(score) FILTER (WHERE role = 'treatment') - avg(score) FILTER (WHERE role = 'baseline'), 12
        ) AS difference
    FROM samples
    JOIN derived_arms USING (arm, seed)
    WHERE checkpoint = 'final'
    GROUP BY sample
)
SELECT
    CASE WHEN n_scores > 1 THEN 'verdict flips' ELSE 'text differs' END AS fault,
    'warn' AS severity,
    arm, seed, checkpoint, item_id,
    CASE
        WHEN n_scores > 1 THEN n || ' repeats score from ' || lowest || ' to ' || highest
        ELSE n || ' repeats give ' || n_texts || ' texts and one score'
    END AS detail
FROM items
WHERE n_scores > 1 OR n_texts > 1
UNION ALL
SELECT
    'sign depends on the repeat', 'fail', NULL, NULL, 'final', NULL,
    format('treatment minus baseline is {:+.4f} in one repeat and {:+.4f} in another', max(difference), min(difference))
FROM by_repeat
HAVING max(difference) > 0 AND min(difference) < 0
ORDER BY ALL
-- notes:
WITH items AS (
    SELECT
        arm, checkpoint, seed, item_id,
        count(*) AS n, count(DISTINCT score) AS n_scores, count(DISTINCT md5(completion)) AS n_texts, count(completion) AS n_logged
    FROM evals
    WHERE nullif(trim(error), '') IS NULL
    GROUP BY arm, checkpoint, seed, item_id
    HAVING count(DISTINCT sample) > 1
), facts AS (
    SELECT arm, checkpoint, format(
        '{} {}: the verdict flips on {:,} of {:,} items ({:.4f}), {}',
        arm, checkpoint, count(*) FILTER (WHERE n_scores > 1), count(*), avg((n_scores > 1)::INT),
        CASE
            WHEN count(*) FILTER (WHERE n_logged > 1) = 0 THEN 'no text was logged'
            ELSE format('the text on {:,} of {:,}', count(*) FILTER (WHERE n_texts > 1), count(*) FILTER (WHERE n_logged > 1))
        END
    ) AS note
    FROM items
    GROUP BY arm, checkpoint
    UNION ALL
    SELECT '~', NULL, CASE unit
        WHEN 'fixed_checkpoint_items' THEN 'the interval is of these checkpoints over items; the repeats of an item are averaged, and the spread between them is not in it'
        WHEN 'training_seeds' THEN 'the interval is over training seeds; the spread between repeats is part of what differs between seeds'
        ELSE 'no plan says what the interval generalises over; the repeats of an item are averaged, and the spread between them is not in it'
    END
    FROM (SELECT DISTINCT unit FROM derived_arms)
)
SELECT note FROM facts ORDER BY arm = '~', arm, checkpoint
