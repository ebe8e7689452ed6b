-- Both arms' final answers to each item, side by side, disagreements first. An arm's score of an item is its mean over
-- seeds of the mean over samples, as the decision rule takes it; text is of the first sample of the lowest seed.
WITH by_seed AS (
    SELECT
        arm, seed, item_id,
        avg(score) AS score,
        count(*) AS samples,
        arg_min({{
            'prompt_id': prompt_id, 'gold': gold, 'extracted': extracted, 'extraction': extraction,
            'stop_reason': stop_reason, 'n_tokens': n_tokens, 'completion': completion
        }}, sample) AS answer
    FROM evals
    WHERE checkpoint = 'final' AND {seeds}
    GROUP BY arm, seed, item_id
), answers AS (
    SELECT arm, item_id, avg(score) AS score, sum(samples) AS samples, arg_min(answer, seed) AS answer
    FROM by_seed
    GROUP BY arm, item_id
), questions AS (
    SELECT prompt_id, min(question) AS question, min(gold) AS gold
    FROM {prompts}
    GROUP BY prompt_id
)
SELECT
    item_id,
    questions.question,
    coalesce(t.answer.gold, b.answer.gold, questions.gold) AS gold,
    t.score AS treatment_score,
    b.score AS baseline_score,
    t.samples AS treatment_samples,
    b.samples AS baseline_samples,
    t.answer.extracted AS treatment_extracted,
    b.answer.extracted AS baseline_extracted,
    t.answer.extraction AS treatment_extraction,
    b.answer.extraction AS baseline_extraction,
    t.answer.stop_reason AS treatment_stop_reason,
    b.answer.stop_reason AS baseline_stop_reason,
    t.answer.n_tokens AS treatment_tokens,
    b.answer.n_tokens AS baseline_tokens,
    t.answer.completion AS treatment_completion,
    b.answer.completion AS baseline_completion
FROM answers AS t
JOIN answers AS b USING (item_id)
LEFT JOIN questions ON questions.prompt_id = coalesce(t.answer.prompt_id, b.answer.prompt_id)
WHERE t.arm = {treatment} AND b.arm = {baseline}
ORDER BY abs(t.score - b.score) DESC, t.score DESC, item_id
