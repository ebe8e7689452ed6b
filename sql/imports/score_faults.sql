-- Rows without a score from 0 to 1 or a reason why there is none; `total` counts them all. A NaN is above every number.
SELECT item_id, score, error IS NOT NULL AS has_error, count(*) OVER () AS total
FROM rows
WHERE (score IS NULL) = (error IS NULL) OR score < 0 OR score > 1
ORDER BY item_id, sample
LIMIT 9
