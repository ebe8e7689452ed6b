"""Measures one metric on one arm: the figure, what it rests on, and the query that gives it again."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audits.engine.check import SeedValue, StepValue
from audits.engine.metric import Metric
from audits.store.reader import sql_text

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Measurement:
    """What a metric gave on one arm and one update.

    Attributes:
        value: the figure aggregated as the metric's header says; None where no row was read.
        beside: the metric's second figure (the `beside` block), aggregated alike.
        reach: the largest value that the rule compares with its threshold.
        numerator: counted rows over all steps, where the figure is a share.
        denominator: rows that the figure is a share or quantile of; steps, where it is one a step.
        rows: rows read.
        invalid: rows with a number that is NaN or infinite, or a probability above 1.
        steps: the profile over steps.
        seeds: the figure of each training seed alone.
        sql: a query for `audit sql` that gives `value` again.
    """

    value: float | str | None
    beside: float | None
    reach: float | None
    numerator: float | None
    denominator: int
    rows: int
    invalid: int
    steps: tuple[StepValue, ...]
    seeds: tuple[SeedValue, ...]
    sql: str


def measure(
    connection: "duckdb.DuckDBPyConnection",
    metric: Metric,
    parameters: Mapping[str, str],
    *,
    arm: str,
    update: int | None,
    seeds: Sequence[int] | None = None,
    n_steps: int | None = None,
) -> Measurement:
    """Measure a metric on one arm, all its seeds and steps together and each step alone.

    Args:
        connection: from `audits.store.reader.connect`.
        metric: the metric.
        parameters: text of the plan's loss parameters by name.
        arm: the arm's condition.
        update: 0-based minibatch update, None for all.
        seeds: training seeds to measure, None for all that were logged.
        n_steps: measure steps 0 to n_steps - 1, None for all.
    """
    where = scope(arm, update, seeds, n_steps)
    inner = _inner_query(metric, parameters, where)
    columns = _outer_columns(metric, parameters)
    cursor = connection.execute(
        f"SELECT arm, seed, step, {', '.join(f'{text} AS {name}' for name, text in columns.items())}\n"
        f"FROM ({inner})\nGROUP BY GROUPING SETS ((arm, seed, step), (seed), ())\nORDER BY ALL NULLS FIRST"
    )
    names = ["arm", "seed", "step", *columns]
    groups = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    total, *by_seed = [group for group in groups if group["step"] is None]
    by_step = [group for group in groups if group["step"] is not None]
    sql = _reproducing_query(metric, parameters, where)
    rows = int(total["n_rows"] or 0)
    if not rows:
        return Measurement(None, None, None, None, 0, 0, 0, (), (), sql)
    denominator = int(total["denominator"]) if "denominator" in total else len(by_step)
    steps = tuple(
        StepValue(
            row["arm"], row["seed"], row["step"], row["value"], row.get("numerator"), int(row.get("denominator") or 1)
        )
        for row in by_step
        if row["value"] is not None
    )
    return Measurement(
        value=_aggregate(metric, total["value"], [row["value"] for row in by_step]),
        beside=_mean([row["beside"] for row in by_step]) if "beside" in total else None,
        reach=total.get("reach"),
        numerator=total.get("numerator"),
        denominator=denominator,
        rows=rows,
        invalid=int(total["invalid"] or 0),
        steps=steps,
        seeds=tuple(
            SeedValue(row["seed"], value)
            for row in by_seed
            if (value := _aggregate(metric, row["value"], _values(by_step, row["seed"]))) is not None
        ),
        sql=sql,
    )


def scope(arm: str, update: int | None, seeds: Sequence[int] | None = None, n_steps: int | None = None) -> str:
    """Return the WHERE condition for one arm, one update, some seeds and the first steps; None leaves one out."""
    parts = [f"arm = {sql_text(arm)}"]
    if seeds is not None:
        parts.append(f"seed IN ({', '.join(f'{seed:d}' for seed in seeds)})")
    if n_steps is not None:
        parts.append(f"step < {n_steps:d}")
    if update is not None:
        parts.append(f"update = {update:d}")
    return " AND ".join(parts)


def _values(by_step: list[dict[str, Any]], seed: int) -> list[Any]:
    return [row["value"] for row in by_step if row["seed"] == seed]


def _inner_query(metric: Metric, parameters: Mapping[str, str], where: str) -> str:
    invalid = "NOT is_valid" if metric.source == "loss_tokens" else "false"
    if "values" in metric.blocks:
        value = metric.fill(metric.blocks["values"], parameters)
        return (
            f"SELECT arm, seed, step, {value} AS value, 1 AS n_rows, ({invalid})::INTEGER AS invalid "
            f"FROM {metric.source} WHERE {where}"
        )
    reach = f",\n{metric.fill(metric.blocks['reach'], parameters)} AS reach" if "reach" in metric.blocks else ""
    return (
        f"SELECT arm, seed, step, {metric.fill(metric.blocks['partials'], parameters)}{reach},\n"
        f"count(*) AS n_rows, count(*) FILTER (WHERE {invalid}) AS invalid\n"
        f"FROM {metric.source} WHERE {where} GROUP BY arm, seed, step"
    )


def _outer_columns(metric: Metric, parameters: Mapping[str, str]) -> dict[str, str]:
    columns = {"value": metric.fill(metric.blocks["finish"], parameters)}
    if metric.is_share:
        columns |= {"numerator": "sum(numerator)", "denominator": "sum(denominator)"}
    if "values" in metric.blocks:
        columns["denominator"] = "count(*)"
    if "beside" in metric.blocks:
        columns["beside"] = metric.fill(metric.blocks["beside"], parameters)
    if "reach" in metric.blocks:
        columns["reach"] = "max(reach)"
    return columns | {"n_rows": "sum(n_rows)", "invalid": "sum(invalid)"}


def _reproducing_query(metric: Metric, parameters: Mapping[str, str], where: str) -> str:
    finish = metric.fill(metric.blocks["finish"], parameters)
    if "values" in metric.blocks:
        value = metric.fill(metric.blocks["values"], parameters)
        return f"SELECT {finish} AS value FROM (SELECT {value} AS value FROM {metric.source} WHERE {where})"
    partials = " ".join(metric.fill(metric.blocks["partials"], parameters).split())
    steps = (
        f"SELECT seed, step, {finish} AS value FROM (SELECT seed, step, {partials} FROM {metric.source} "
        f"WHERE {where} GROUP BY seed, step) GROUP BY seed, step"
    )
    return f"SELECT avg(value) AS value FROM ({steps})" if metric.over == "mean_of_steps" else f"{steps} ORDER BY ALL"


def _aggregate(metric: Metric, pooled: Any, by_step: list[Any]) -> float | str | None:
    if metric.over == "mean_of_steps":
        return _mean(by_step)
    if metric.over == "every_step":
        distinct = sorted(set(by_step))
        if isinstance(distinct[0], str):
            return " and ".join(distinct)
        return float(distinct[0])
    return pooled if pooled is None else float(pooled)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
