-- Completions whose recorded label the answer in the text contradicts, and what every way finds.
-- rows:
WITH judged AS (
    SELECT *, CASE
        WHEN recorded AND strict_right THEN NULL
        WHEN recorded AND own_way IS NULL AND gold_among_several THEN 'right by one of several answers'
        WHEN recorded AND own_way IS NULL AND NOT is_blank
            AND ((strict_answer_unread AND NOT other_strict_number) OR no_number_found)
        THEN 'answer not read as a number'
        WHEN recorded AND right_by_any THEN 'right by a lenient way only'
        WHEN recorded AND gold_in_text THEN 'right by an intermediate number'
        WHEN recorded THEN 'right without the gold number'
        WHEN strict_right THEN 'wrong against the strict answer'
        WHEN right_by_any THEN 'wrong, found by a lenient way'
    END AS fault
    FROM derived_answers
    -- Where no completion of any arm marks its answer, there is no form that a lenient reading could have passed over.
    JOIN (
        SELECT source, bool_or(strict_right OR other_strict_number OR strict_answer_unread) AS some_are_marked
        FROM derived_answers WHERE is_judged GROUP BY source
    ) USING (source)
    WHERE is_judged
)
SELECT
    CASE
        WHEN fault = 'right by a lenient way only' AND own_way IS NULL AND NOT some_are_marked THEN 'warn'
        WHEN source = 'rollouts' OR fault IN ('answer not read as a number', 'wrong, found by a lenient way') THEN 'warn'
        WHEN NOT recorded AND own_way IS NULL AND (other_strict_number OR coalesce(stop_reason, '') = 'length') THEN 'warn'
        ELSE 'fail'
    END AS severity,
    fault, source, arm, seed, checkpoint, step, id, sample, gold, recorded_extracted, recorded_score, answers,
    coalesce(own_way, 'not stated') AS own_way, stop_reason, completion_end AS detail
FROM judged
WHERE fault IS NOT NULL
ORDER BY ALL

-- notes:
WITH labels AS (
    SELECT source, arm, count(*) AS n, count(*) FILTER (recorded) AS n_right
    FROM derived_answers WHERE is_judged GROUP BY ALL
), ways AS (
    UNPIVOT (
        SELECT source, arm, recorded, COLUMNS('^right_by_'), own_right AS right_by_own_way
        FROM derived_answers WHERE is_judged
    ) ON COLUMNS('^right_by_') INTO NAME way VALUE is_right
), found AS (
    SELECT
        source, arm, regexp_replace(way, '^right_by_', '') AS way,
        count(*) FILTER (recorded AND is_right) AS n_right, count(*) FILTER (NOT recorded AND is_right) AS n_wrong
    FROM ways WHERE way <> 'right_by_any' GROUP BY ALL
)
SELECT format(
    '{} of {}: {:,} of {:,} answers recorded right. The gold number is found, of those right and of those wrong: {}',
    source, arm, any_value(labels.n_right), any_value(labels.n),
    coalesce(string_agg(format('{} {:,} and {:,}', way, found.n_right, found.n_wrong), ', ' ORDER BY way), 'never')
)
FROM labels LEFT JOIN found USING (source, arm)
GROUP BY source, arm
ORDER BY source, arm
