-- Scores of the final checkpoints: one row a sample of an item, the pairing key is item_id.
SELECT arm, seed, item_id, sample, score, correct, extracted, gold, stop_reason, n_tokens
FROM evals
WHERE checkpoint = 'final'
