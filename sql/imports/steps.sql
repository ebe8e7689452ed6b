-- The steps that the rows hold.
SELECT DISTINCT step
FROM rows
ORDER BY step
