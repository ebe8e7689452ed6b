-- Items that stand more than once with one sample number, in order: item, sample, rows; `total` counts them all.
SELECT item_id, sample, count(*) AS found, count(*) OVER () AS total
FROM rows
GROUP BY item_id, sample
HAVING count(*) > 1
ORDER BY item_id, sample
LIMIT 9
