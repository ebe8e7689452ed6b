-- How many outcomes have a value in the columns that another format may not carry.
SELECT
    count(completion) AS completion,
    count(extracted) AS extracted,
    count(extraction) AS extraction,
    count(stop_reason) AS stop_reason,
    count(n_tokens) AS n_tokens,
    count(correct) AS correct
FROM evals
