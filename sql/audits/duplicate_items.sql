-- Items of the final evaluation whose question an earlier item (by id) asks: one row an item.
-- rows:
WITH items AS (
    SELECT
        item_id, question, gold,
        coalesce(nullif(normalised, ''), question) AS asked,
        replace(trim(gold), ',', '') AS answer
    FROM derived_evaluated_items
    WHERE is_final
), beside_the_first AS (
    SELECT
        item_id, question, answer, gold,
        first_value(item_id) OVER same AS same_as,
        first_value(question) OVER same AS first_question,
        first_value(answer) OVER same AS first_answer,
        first_value(gold) OVER same AS first_gold
    FROM items
    WINDOW same AS (PARTITION BY asked ORDER BY item_id, question, gold)
)
SELECT
    CASE
        WHEN answer <> first_answer THEN 'same question with another gold'
        WHEN question = first_question THEN 'same question'
        ELSE 'same question in other spelling'
    END AS fault,
    item_id,
    same_as,
    'gold ' || left(gold, 40) || ', there ' || left(first_gold, 40) || ': ' || left(question, 160) AS detail
FROM beside_the_first
WHERE item_id <> same_as
ORDER BY ALL
-- notes:
WITH sizes AS (
    SELECT count(DISTINCT item_id) AS size
    FROM derived_evaluated_items
    WHERE is_final
    GROUP BY coalesce(nullif(normalised, ''), question)
)
SELECT format('{:,} items ask {:,} distinct questions', sum(size)::BIGINT, count(*)) || CASE
    WHEN max(size) = 1 THEN ''
    ELSE format(
        '; effective n {:,.1f}, n² over the sum of squared group sizes (duplicates are answered alike); the largest group has {:,}',
        sum(size) ^ 2 / sum(size ^ 2), max(size)
    )
END
FROM sizes
HAVING count(*) > 0
