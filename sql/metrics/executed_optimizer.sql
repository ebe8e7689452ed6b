-- name: Optimiser settings, as they were sent to the service
-- unit: name
-- definition: executed_optimizer@log/rollout_batches
-- denominator: rollout batches
-- from: executed_updates
-- needs: updates.learning_rate, updates.beta1, updates.beta2, updates.eps, updates.weight_decay, updates.grad_clip_norm
-- arm: all
-- over: every_step
-- source: the updates table, what each optim_step call was sent; one text, as in `adamw lr=0.001 beta1=0.9 …`
-- partials:
string_agg(DISTINCT optimizer, ' and ' ORDER BY optimizer) AS reported
-- finish:
string_agg(DISTINCT reported, ' and ' ORDER BY reported)
