-- name: Base model, as the service reported it
-- unit: name
-- definition: executed_base_model@log/rollout_batches
-- denominator: rollout batches
-- from: updates
-- needs: updates.base_model
-- arm: all
-- over: every_step
-- source: the model name that the service reported when the training client was created
-- partials:
string_agg(DISTINCT base_model, ' and ' ORDER BY base_model) AS reported
-- finish:
string_agg(DISTINCT reported, ' and ' ORDER BY reported)
