-- Items whose gold answer is another in `rows` than in `others`; `total` counts them all.
SELECT item_id, min(first.gold) AS here, min(second.gold) AS there, count(*) OVER () AS total
FROM rows AS first
JOIN others AS second USING (item_id)
WHERE first.gold <> second.gold
GROUP BY item_id
ORDER BY item_id
LIMIT 9
