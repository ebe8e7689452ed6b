-- Prompts whose frame (the text around the question) is not the training's, or not what was logged of it.
-- rows:
WITH found AS (
    SELECT
        prompt_id, split, template_sha256, rendered, question,
        trim(question, E' \t\r\n') AS bare,
        strpos(rendered, question) AS place,
        strpos(rendered, bare) AS bare_place
    FROM prompts
), framed AS (
    SELECT
        prompt_id, split, template_sha256, rendered, question, bare, bare_place > 0 AS is_framed,
        left(rendered, bare_place - 1) AS before,
        substr(rendered, bare_place + length(bare)) AS after,
        sha256(
            CASE
                WHEN place = 0 THEN rendered
                ELSE left(rendered, place - 1) || '{question}' || substr(rendered, place + length(question))
            END
        ) AS recomputed
    FROM found
), raw AS (
    SELECT *, sha256(before || '{question}' || after) AS raw_frame FROM framed WHERE is_framed
), commonest AS (
    SELECT raw_frame AS commonest_frame, any_value(before) AS trained_before, any_value(after) AS trained_after
    FROM raw
    WHERE split = 'train'
    GROUP BY raw_frame
    ORDER BY count(*) DESC, raw_frame
    LIMIT 1
), frames AS (
    SELECT
        prompt_id, split, before, after, trained_before, trained_after,
        CASE
            WHEN rendered IN (trained_before || question || trained_after, trained_before || bare || trained_after)
                THEN commonest_frame
            ELSE raw_frame
        END AS frame
    FROM raw
    LEFT JOIN commonest ON true
), trained AS (
    SELECT frame, count(*) AS n, any_value(before) AS before, any_value(after) AS after
    FROM frames
    WHERE split = 'train'
    GROUP BY frame
), unlike AS (
    SELECT *
    FROM frames
    ANTI JOIN trained USING (frame)
    WHERE split <> 'train' AND trained_before IS NOT NULL
), sides AS (
    SELECT split_part(setting, '.', 1) AS side, split_part(setting, '.', 2) AS name, executed
    FROM derived_settings
    WHERE executed IS NOT NULL AND regexp_full_match(
        setting, '(rollout|evaluation)\.(stop|renderer|system|system_prompt|system_text|chat_template|template)'
    )
), training_side AS (
    SELECT name, string_agg(DISTINCT executed, ' or ' ORDER BY executed) AS said
    FROM sides WHERE side = 'rollout' GROUP BY name
), evaluation_side AS (
    SELECT name, string_agg(DISTINCT executed, ' or ' ORDER BY executed) AS said
    FROM sides WHERE side = 'evaluation' GROUP BY name
)
SELECT
    'other template' AS fault, 'fail' AS severity, prompt_id, split,
    format(
        'stands between "{}" and "{}", training prompts between "{}" and "{}"',
        right(before, 60), left(after, 60), right(trained_before, 60), left(trained_after, 60)
    ) AS detail
FROM unlike
UNION ALL
SELECT
    'template hash', 'fail', prompt_id, split,
    format('logged {}, the text gives {}', left(template_sha256, 12), left(recomputed, 12))
FROM framed WHERE template_sha256 <> recomputed
UNION ALL
SELECT
    'question not found', 'inconclusive', prompt_id, split, 'the question does not stand in the prompt as it was sent'
FROM framed WHERE NOT is_framed
UNION ALL
SELECT
    'not logged as sent', 'inconclusive', min(prompt_id), split,
    format('{:,} prompts have no rendered text, so nobody can say what frame they had', count(*))
FROM prompts
WHERE rendered IS NULL
GROUP BY split
UNION ALL
SELECT
    'not evaluated', 'warn', NULL, 'train',
    format('{:,} training prompts between "{}" and "{}"', n, right(before, 60), left(after, 60))
FROM trained
ANTI JOIN (SELECT frame FROM frames WHERE split <> 'train') AS evaluated USING (frame)
WHERE EXISTS (FROM frames WHERE split <> 'train')
UNION ALL
SELECT
    'other ' || name, 'fail', NULL, NULL,
    format('training: {}; evaluation: {}', training_side.said, evaluation_side.said)
FROM training_side
JOIN evaluation_side USING (name)
WHERE training_side.said <> evaluation_side.said
UNION ALL
SELECT 'one side only', 'inconclusive', NULL, any_value(split), 'prompts of one side alone were logged'
FROM prompts
HAVING count(DISTINCT split = 'train') = 1
ORDER BY ALL
-- notes:
SELECT format('{}: {:,} prompts, {:,} logged templates', split, count(*), count(DISTINCT template_sha256))
FROM prompts
GROUP BY split
ORDER BY split
