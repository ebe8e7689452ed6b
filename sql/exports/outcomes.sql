-- One row an item a sample of every evaluation, all columns of the run format.
SELECT
    arm, seed, checkpoint, item_id, sample, score, correct, extracted, gold, completion, extraction, stop_reason,
    n_tokens, prompt_id, error
FROM evals
ORDER BY arm, seed, checkpoint, item_id, sample
