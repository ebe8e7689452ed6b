-- Completions to which the run's own grader gives another label, score or extracted answer than was recorded.
-- rows:
WITH logged AS (
    SELECT source, bool_or(recorded_extracted IS NOT NULL) AS has_extracted FROM derived_answers GROUP BY source
), compared AS (
    SELECT
        derived_answers.*,
        recorded IS NOT NULL AND recorded <> own_right AS other_label,
        recorded_score IS DISTINCT FROM own_score AND recorded_score IS NOT NULL AS other_score,
        has_extracted AND recorded_extracted IS DISTINCT FROM own_extracted AS other_answer
    FROM derived_answers JOIN logged USING (source)
    WHERE own_score IS NOT NULL
)
SELECT
    CASE WHEN other_label THEN 'other label' WHEN other_score THEN 'other score' ELSE 'other answer' END AS fault,
    source, arm, seed, checkpoint, step, id, sample, gold, stop_reason,
    recorded, recorded_score, recorded_extracted, own_right, own_score, own_extracted, own_way,
    completion_end AS detail
FROM compared
WHERE other_label OR other_score OR other_answer
ORDER BY ALL

-- notes:
SELECT format('{}: {:,} completions graded again by {}', source, count(*), own_way)
FROM derived_answers WHERE own_score IS NOT NULL
GROUP BY source, own_way
ORDER BY ALL
