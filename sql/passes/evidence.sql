-- Rows behind a failing check: a sample that the seed alone decides, in the order of the log.
SELECT *
FROM {source}
WHERE {where}
ORDER BY hash({key}, {seed})
LIMIT {cap}
