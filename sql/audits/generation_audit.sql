-- Demands on generated training data that were not met, or of which no result is recorded: one row a demand.
-- rows:
SELECT
    CASE WHEN value IS NULL THEN 'not recorded' ELSE demand || ' not met' END AS fault,
    CASE WHEN value IS NULL THEN 'inconclusive' ELSE 'fail' END AS severity,
    demand,
    coalesce(left(value, 80), 'nothing usable in executed.generation_audit of run.json') || ', demanded '
        || coalesce('at least ' || least::BIGINT, 'at most ' || most::BIGINT, wanted) AS detail
FROM derived_generation_audit
WHERE value IS NULL OR number < least OR number > most OR value <> wanted
ORDER BY ALL
-- notes:
SELECT demand || ' ' || coalesce(left(value, 80), 'not recorded') || ' (' || source || '), demanded '
    || coalesce('at least ' || least::BIGINT, 'at most ' || most::BIGINT, wanted)
FROM derived_generation_audit
ORDER BY ALL
