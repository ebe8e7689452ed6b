-- Known answers that were graded wrongly, sets of labels that are all the same, and gold answers that cannot be right.
-- rows:
WITH label_sets AS (
    SELECT
        source, arm, seed, checkpoint, count(*) AS n, bool_or(recorded) AS any_right,
        count(*) FILTER (strict_right) AS n_strict_right,
        count(*) FILTER (NOT strict_right AND (own_right IS NOT NULL OR other_strict_number)) AS n_strict_wrong
    FROM derived_answers
    WHERE is_judged
    GROUP BY ALL
    HAVING count(DISTINCT recorded) = 1
), text_golds AS (
    SELECT source, gold, count(*) AS n, count(DISTINCT lower(trim(recorded_extracted))) AS n_answers
    FROM derived_answers
    WHERE recorded IS NOT NULL AND NOT gold_is_number AND trim(gold) <> '' AND own_way IS NULL
    GROUP BY ALL
    HAVING bool_and(recorded) AND n_answers > 1
)
SELECT
    CASE
        WHEN got IS NULL THEN 'gold answer refused'
        WHEN expected THEN 'right answer graded wrong'
        ELSE 'wrong answer graded right'
    END AS fault,
    'fail' AS severity, source, NULL AS arm, NULL AS seed, NULL AS checkpoint, NULL AS id, gold,
    kind || ', through ' || grader || ': ' || completion AS detail
FROM derived_canaries WHERE got IS DISTINCT FROM expected
UNION ALL
SELECT
    CASE WHEN any_right THEN 'everything graded right' ELSE 'everything graded wrong' END,
    'fail', source, arm, seed, checkpoint, NULL, NULL,
    format('all {:,} labels are the same; the strict answer is right in {:,}, wrong in {:,}', n, n_strict_right, n_strict_wrong)
FROM label_sets WHERE CASE WHEN any_right THEN n_strict_wrong ELSE n_strict_right END > 0
UNION ALL
SELECT
    CASE WHEN trim(gold) = '' THEN 'empty gold graded right' ELSE 'unreadable gold graded right' END,
    'fail', source, arm, seed, checkpoint, id, gold, completion_end
FROM derived_answers WHERE recorded AND NOT gold_is_number AND (trim(gold) = '' OR own_way IS NOT NULL)
UNION ALL
SELECT
    'any answer graded right', 'warn', source, NULL, NULL, NULL, NULL, gold,
    format('{:,} completions with {:,} different answers, all graded right', n, n_answers)
FROM text_golds
ORDER BY ALL

-- notes:
WITH canaries AS (
    SELECT
        source,
        format(
            '{}: {:,} known answers put to {}, {:,} graded as they must be',
            source, count(*), grader, count(*) FILTER (got IS NOT DISTINCT FROM expected)
        ) AS note
    FROM derived_canaries
    GROUP BY source, grader
), label_sets AS (
    SELECT source, count(*) AS n, count(*) FILTER (recorded) AS n_right
    FROM derived_answers
    WHERE recorded IS NOT NULL AND source NOT IN (SELECT source FROM derived_canaries)
    GROUP BY source, arm, seed, checkpoint
), labels AS (
    SELECT
        source, count(*) AS n_sets, sum(n) AS n, min(n) = max(n) AS are_as_many, min(n) AS n_each,
        min(n_right) AS fewest, max(n_right) AS most, sum(n_right) AS n_right
    FROM label_sets
    GROUP BY source
), facts AS (
    SELECT source, note FROM canaries
    UNION ALL
    SELECT
        source,
        source || ': no grader of ours is named, so 0 known answers were put to one; labels alone were looked at: '
        || CASE
            WHEN n_sets = 1 THEN format('{:,} of {:,} right', n_right, n)
            WHEN are_as_many
                THEN format('in {:,} sets of {:,}, {:,} to {:,} right', n_sets, n_each, fewest, most)
            ELSE format('in {:,} sets, {:,} of {:,} right', n_sets, n_right, n)
        END
    FROM labels
)
SELECT note FROM facts ORDER BY source, note
