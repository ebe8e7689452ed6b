-- name: Optimiser steps a rollout batch, as executed
-- unit: optimiser steps
-- definition: executed_updates@log/rollout_batches
-- denominator: rollout batches
-- from: updates
-- needs: updates.optim_step
-- arm: all
-- over: every_step
-- source: the updates table, one row an optim_step call that the service answered
-- partials:
count(DISTINCT optim_step) AS executed
-- finish:
sum(executed)
