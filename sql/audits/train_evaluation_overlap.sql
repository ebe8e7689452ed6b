-- Evaluated items whose question stands among the training prompts: one row an item, and one a form that differs in numbers.
-- rows:
WITH items AS (
    SELECT DISTINCT item_id, question, coalesce(nullif(normalised, ''), question) AS asked, form, has_words
    FROM derived_evaluated_items
), trained AS (
    SELECT prompt_id, question, coalesce(nullif(normalised, ''), question) AS asked, form, n_rollouts
    FROM derived_training_prompts
), exact_copies AS (
    SELECT DISTINCT question FROM trained
), copies AS (
    SELECT asked, arg_min(prompt_id, (-n_rollouts, prompt_id)) AS prompt_id, count(*) AS n_prompts, sum(n_rollouts) AS n_rollouts
    FROM trained
    GROUP BY asked
), forms AS (
    SELECT form, min(prompt_id) AS prompt_id, count(*) AS n_prompts FROM trained GROUP BY form
), logged AS (
    SELECT coalesce(sum(n_rollouts), 0) > 0 AS rollouts FROM trained
), alike AS (
    SELECT
        form, forms.prompt_id, forms.n_prompts,
        count(DISTINCT item_id) AS n_items, min(item_id) AS item_id, arg_min(items.question, item_id) AS question
    FROM items
    JOIN forms USING (form)
    LEFT JOIN copies USING (asked)
    WHERE has_words AND copies.asked IS NULL
    GROUP BY ALL
)
SELECT
    CASE WHEN exact_copies.question IS NULL THEN 'same question in other spelling' ELSE 'same question' END AS fault,
    CASE WHEN copies.n_rollouts = 0 AND logged.rollouts THEN 'warn' ELSE 'fail' END AS severity,
    item_id,
    copies.prompt_id AS training_prompt,
    CASE
        WHEN NOT logged.rollouts THEN 'no rollout names a prompt'
        WHEN copies.n_rollouts = 0 THEN 'in the train split, never sampled'
        ELSE 'sampled (rollouts: ' || copies.n_rollouts || ')'
    END || ': ' || left(items.question, 160) AS detail
FROM items
JOIN copies USING (asked)
LEFT JOIN exact_copies ON exact_copies.question = items.question
CROSS JOIN logged
UNION ALL
SELECT
    'same words with other numbers', 'warn', item_id, prompt_id,
    'this form (items: ' || n_items || ', training prompts: ' || n_prompts || '): ' || left(question, 160)
FROM alike
ORDER BY ALL
-- notes:
WITH items AS (
    SELECT count(DISTINCT item_id) AS n FROM derived_evaluated_items
), trained AS (
    SELECT count(*) AS n, count(*) FILTER (WHERE n_rollouts > 0) AS n_sampled FROM derived_training_prompts
), wordless AS (
    SELECT count(DISTINCT item_id) AS n
    FROM derived_evaluated_items
    WHERE NOT has_words AND form IN (SELECT form FROM derived_training_prompts)
), facts AS (
    SELECT
        1 AS place,
        format('{:,} items compared with {:,} training prompts, {:,} of them sampled in rollouts', items.n, trained.n, n_sampled) AS note
    FROM items, trained
    WHERE trained.n > 0
    UNION ALL
    SELECT 2, format('{:,} of {:,} items have the form of a training prompt, a form without words: the task itself', wordless.n, items.n)
    FROM items, wordless
    WHERE wordless.n > 0
)
SELECT note FROM facts ORDER BY place
