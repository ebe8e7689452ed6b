"""What is asked of a run's logs: one metric on one arm, some seeds, some steps, one update or all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from audits.engine.metric import Metric
from audits.store.layout import step_of
from audits.store.manifest import FileRecord
from audits.store.reader import Run
from audits.store.scan import sql_text


@dataclass(frozen=True, eq=False)
class Request:
    """One metric asked of one arm.

    Attributes:
        metric: the metric.
        parameters: text of the loss parameters by name.
        arm: the arm's condition.
        update: 0-based minibatch update, None for all together.
        seeds: training seeds, None for all that were logged.
        n_steps: steps 0 to n_steps - 1, None for all.
        by_update: give each update of a step its own figure, instead of one a step.
        with_reach: give the largest value that the rule compares with its threshold, too; it costs as much as the rule.
        profile_only: only the figures of the steps are wanted; a quantile then has no pooled value.
    """

    metric: Metric
    parameters: Mapping[str, str] = field(default_factory=dict)
    arm: str = ""
    update: int | None = None
    seeds: tuple[int, ...] | None = None
    n_steps: int | None = None
    by_update: bool = False
    profile_only: bool = False
    with_reach: bool = False

    @property
    def scope(self) -> str:
        """The WHERE condition of the rows that are asked for."""
        return scope(self.arm, self.update, self.seeds, self.n_steps)

    @property
    def scope_of_all_updates(self) -> str:
        """The same condition without the update."""
        return scope(self.arm, None, self.seeds, self.n_steps)

    def records(self, run: Run) -> tuple[FileRecord, ...]:
        """Return the files that can hold a row of the request; a file that names no step may hold any."""
        found: list[FileRecord] = []
        for (arm, seed), records in run.partitions(self.metric.table).items():
            if arm == self.arm and (self.seeds is None or seed in self.seeds):
                found.extend(record for record in records if self._may_hold(step_of(record.path)))
        return tuple(found)

    def _may_hold(self, step: int | None) -> bool:
        return step is None or self.n_steps is None or step < self.n_steps

    def reproducing_query(self) -> str:
        """Return a query for `audit sql` that gives the figure again, in one scan."""
        metric, parameters = self.metric, self.parameters
        finish = metric.fill(metric.blocks["finish"], parameters)
        if metric.quantile is not None:
            value = metric.fill(metric.blocks["values"], parameters)
            return f"SELECT {finish} AS value FROM (SELECT {value} AS value FROM {metric.source} WHERE {self.scope})"
        partials = " ".join(metric.fill(metric.blocks["partials"], parameters).split())
        by_step = 'seed, step, "update"' if self.by_update else "seed, step"
        keys = by_step if metric.over != "pooled" else "seed"
        grouped = f"SELECT {keys}, {partials} FROM {metric.source} WHERE {self.scope} GROUP BY {keys}"
        if metric.over == "pooled":
            return f"SELECT {finish} AS value FROM ({grouped})"
        steps = f"SELECT {by_step}, {finish} AS value FROM ({grouped}) GROUP BY {by_step}"
        return (
            f"SELECT avg(value) AS value FROM ({steps})" if metric.over == "mean_of_steps" else f"{steps} ORDER BY ALL"
        )


def scope(arm: str, update: int | None, seeds: Sequence[int] | None = None, n_steps: int | None = None) -> str:
    """Return the WHERE condition for one arm, one update, some seeds and the first steps; None leaves one out."""
    parts = [f"arm = {sql_text(arm)}"]
    if seeds is not None:
        parts.append(f"seed IN ({', '.join(f'{seed:d}' for seed in seeds)})" if seeds else "false")
    if n_steps is not None:
        parts.append(f"step < {n_steps:d}")
    if update is not None:
        parts.append(f'"update" = {update:d}')
    return " AND ".join(parts)
