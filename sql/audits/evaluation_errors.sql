-- Evaluated samples whose score, verdict and error do not fit together; one row for an evaluation that failed as a whole.
-- rows:
WITH answers AS (
    SELECT
        arm, seed, checkpoint, item_id, sample, score, correct, completion,
        nullif(trim(error), '') AS error,
        bool_and(nullif(trim(error), '') IS NOT NULL) OVER evaluation AS all_failed,
        row_number() OVER (evaluation ORDER BY item_id, sample) AS place,
        count(*) OVER evaluation AS n,
        avg(score) OVER evaluation AS mean_score
    FROM evals
    WINDOW evaluation AS (PARTITION BY arm, seed, checkpoint)
), faults AS (
    SELECT
        CASE
            WHEN all_failed THEN CASE WHEN place = 1 THEN 'every item failed' END
            WHEN error IS NOT NULL AND score IS NOT NULL THEN 'error counted'
            WHEN error IS NOT NULL THEN 'error'
            WHEN score IS NULL OR NOT isfinite(score) THEN 'no score and no error'
            WHEN NOT score BETWEEN 0 AND 1 THEN 'outside 0 to 1'
            WHEN (correct AND score = 0) OR (NOT correct AND score = 1) THEN 'score against verdict'
            WHEN trim(completion, E' \t\r\n') = '' AND (score > 0 OR correct) THEN 'empty but right'
        END AS fault,
        *
    FROM answers
)
SELECT
    fault,
    CASE WHEN all_failed THEN 'inconclusive' ELSE 'fail' END AS severity,
    arm, seed, checkpoint,
    CASE WHEN NOT all_failed THEN item_id END AS item_id,
    CASE WHEN NOT all_failed THEN sample END AS sample,
    CASE
        WHEN all_failed AND mean_score IS NOT NULL
            THEN format('{:,} of {:,} failed, scored {:.4g} on average: that is no accuracy; the first says: {}', n, n, mean_score, left(error, 160))
        WHEN all_failed THEN format('{:,} of {:,} failed; the first says: {}', n, n, left(error, 160))
        WHEN error IS NOT NULL THEN 'score ' || coalesce(score::VARCHAR, 'null') || ': ' || left(error, 160)
        ELSE 'score ' || coalesce(score::VARCHAR, 'null') || ', correct ' || coalesce(correct::VARCHAR, 'null')
    END AS detail
FROM faults
WHERE fault IS NOT NULL
ORDER BY ALL
-- notes:
WITH counted AS (
    SELECT
        arm, checkpoint,
        count(*) AS n,
        count(*) FILTER (WHERE nullif(trim(error), '') IS NOT NULL) AS failed,
        count(*) FILTER (WHERE nullif(trim(error), '') IS NULL AND trim(completion, E' \t\r\n') = '') AS empty,
        count(score) FILTER (WHERE nullif(trim(error), '') IS NULL) AS scored,
        sum(score) FILTER (WHERE nullif(trim(error), '') IS NULL) AS points
    FROM evals
    GROUP BY arm, checkpoint
)
SELECT format('{:,} errors in {:,} evaluated samples', sum(failed)::BIGINT, sum(n)::BIGINT)
FROM counted
UNION ALL
SELECT format('{} {}: {:,} of {:,} samples failed', arm, checkpoint, failed, n)
    || CASE WHEN scored > 0 THEN format('; the others score {:.4g} ({:.6g}/{:,})', points / scored, points, scored) ELSE '; no accuracy' END
FROM counted
WHERE failed > 0
UNION ALL
SELECT format('{} {}: {:,} of {:,} completions are empty', arm, checkpoint, empty, n)
FROM counted
WHERE empty > 0
ORDER BY ALL
