-- Prompts, and references to them, that do not fit together: one row a prompt, source, arm and seed.
-- rows:
WITH known AS (
    SELECT prompt_id, min(split) AS split, min(gold) AS gold, count(*) AS n
    FROM derived_prompt_hashes
    GROUP BY prompt_id
), named AS (
    SELECT
        r.source, r.arm, r.seed, r.checkpoint, r.kind, r.prompt_id, r.gold AS said, r.n_rows,
        known.split, known.gold, known.prompt_id IS NOT NULL AS is_known
    FROM derived_prompt_references AS r
    LEFT JOIN known ON known.prompt_id = r.prompt_id
)
SELECT 'id stands twice' AS fault, 'fail' AS severity, 'prompts' AS source, NULL AS arm, NULL AS seed, NULL AS checkpoint,
    prompt_id, n || ' prompts have this id' AS detail
FROM known
WHERE n > 1
UNION ALL
SELECT 'hash of other tokens', 'fail', 'prompts', NULL, NULL, NULL, prompt_id,
    'logged ' || left(prompt_sha256, 16) || '…, of the logged token ids ' || left(computed_sha256, 16) || '…'
FROM derived_prompt_hashes
WHERE prompt_sha256 <> computed_sha256
UNION ALL
SELECT 'unknown split', 'fail', 'prompts', NULL, NULL, NULL, prompt_id,
    'split ' || left(split, 80) || ' is none of train, validation and test: nobody can say what it was for'
FROM derived_prompt_hashes
WHERE split NOT IN ('train', 'validation', 'test')
UNION ALL
SELECT 'unknown prompt', 'fail', source, arm, seed, checkpoint, prompt_id, 'rows that name it: ' || sum(n_rows)
FROM named
WHERE NOT is_known AND prompt_id IS NOT NULL
GROUP BY ALL
UNION ALL
SELECT 'no prompt named', 'warn', source, arm, seed, checkpoint, NULL, 'rows that name no prompt: ' || sum(n_rows)
FROM named
WHERE prompt_id IS NULL AND source IN (SELECT source FROM named WHERE prompt_id IS NOT NULL)
GROUP BY ALL
UNION ALL
SELECT 'another gold', 'fail', source, arm, seed, checkpoint, prompt_id,
    'the prompt has ' || left(any_value(gold), 80) || ', here ' || left(min(said), 80) || '; rows: ' || sum(n_rows)
FROM named
WHERE is_known AND trim(said) <> trim(gold)
GROUP BY ALL
UNION ALL
SELECT 'held-out prompt trained on', 'fail', source, arm, seed, checkpoint, prompt_id,
    'of the ' || any_value(split) || ' split; rollouts: ' || sum(n_rows)
FROM named
WHERE source = 'rollouts' AND split IN ('validation', 'test')
GROUP BY ALL
UNION ALL
SELECT 'training prompt evaluated', 'fail', source, arm, seed, checkpoint, prompt_id, 'rows: ' || sum(n_rows)
FROM named
WHERE source = 'evals' AND split = 'train'
GROUP BY ALL
UNION ALL
SELECT 'pilot on test items', 'fail', source, arm, seed, checkpoint, prompt_id, 'rows: ' || sum(n_rows)
FROM named
WHERE source = 'evals' AND kind = 'pilot' AND split = 'test'
GROUP BY ALL
ORDER BY ALL
-- notes:
SELECT format(
    '{}: prompts named: {:,} ({}), by rows: {:,}',
    source, count(DISTINCT r.prompt_id),
    coalesce(string_agg(DISTINCT split, ', ' ORDER BY split), 'none known'),
    sum(n_rows)::BIGINT
)
FROM derived_prompt_references AS r
LEFT JOIN derived_prompt_hashes AS p ON p.prompt_id = r.prompt_id
GROUP BY source
ORDER BY ALL
