"""Measures metrics: partials of each batch of files, merged, and finished by each metric's own expression."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audits.engine.check import SeedValue, StepValue
from audits.engine.executors import LOCAL, Engine
from audits.engine.metric import Metric
from audits.engine.passes import FusedPass, fuse, pass_text
from audits.engine.quantiles import pooled_quantiles
from audits.engine.request import Request
from audits.store.reader import Run, check_files
from audits.store.scan import Batch
from audits.store.schema import tables

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Measurement:
    """What a metric gave on one arm and one update.

    Attributes:
        value: the figure aggregated as the metric's header says; None where no row was read, and of a quantile where
            only its profile is asked for. It is not finite where the logged numbers are not, or overflow a double.
        beside: the metric's second figure (the `beside` block), aggregated alike.
        reach: the largest value that the rule compares with its threshold, where the request asks for it.
        numerator: counted rows over all steps, where the figure is a share.
        denominator: rows that the figure is a share or quantile of; steps, where it is one a step.
        rows: rows read.
        invalid: rows with a number that is NaN or infinite, or a probability above 1.
        steps: the profile over steps (and updates, where the request asks for them).
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


def measure(run: Run, request: Request, engine: Engine = LOCAL) -> Measurement:
    """Measure one metric; see `measure_all`."""
    return measure_all(run, [request], engine)[0]


def measure_all(run: Run, requests: Sequence[Request], engine: Engine = LOCAL) -> list[Measurement]:
    """Measure metrics, each on its arm: all its seeds and steps together, and each step alone.

    Requests of the same scope share one scan. Memory is bounded whatever the number of rows: files are read in
    batches, and what a batch leaves is a row of partials a step.

    Args:
        run: the run.
        requests: what to measure.
        engine: where the scans run; the figures are the same on each.

    Returns:
        One measurement a request, in their order.

    Raises:
        AuditError: a file is damaged or not what its manifest line says, or a parameter of a metric is missing.
    """
    for table in sorted({request.metric.table for request in requests}):
        check_files(run, tables()[table])
    passes = list(fuse(requests))
    partials = _scanned(run, passes, engine)
    found: dict[int, Measurement] = {}
    with engine.scratch() as connection:
        for fused, own in zip(passes, partials, strict=True):
            if own:
                _register(connection, own)
            for place, request in enumerate(fused.requests):
                found[id(request)] = _finish(connection, run, fused, place, engine) if own else _nothing(request)
    return [found[id(request)] for request in requests]


def _scanned(run: Run, passes: Sequence[FusedPass], engine: Engine) -> list[list[Any]]:
    """Return the partials of each pass, one Arrow table a batch.

    Passes over the same batch follow each other, so that its files are opened once.
    """
    scans = [(number, scan) for number, fused in enumerate(passes) for scan in fused.scans(run, engine)]
    places: dict[Batch, int] = {}
    for _, scan in scans:
        places.setdefault(scan.batch, len(places))
    scans.sort(key=lambda pair: places[pair[1].batch])
    partials: list[list[Any]] = [[] for _ in passes]
    for (number, _), table in zip(scans, engine.run(scan for _, scan in scans), strict=True):
        partials[number].append(table)
    return partials


def _register(connection: "duckdb.DuckDBPyConnection", partials: Sequence[Any]) -> None:
    """Make the partials of all batches one table, in an order that does not depend on the batches."""
    import pyarrow as pa

    connection.register("batches", pa.concat_tables(partials, promote_options="permissive"))
    connection.execute("CREATE OR REPLACE TABLE partials AS SELECT * FROM batches ORDER BY ALL")


def _nothing(request: Request) -> Measurement:
    return Measurement(None, None, None, None, 0, 0, 0, (), (), request.reproducing_query())


def _finish(
    connection: "duckdb.DuckDBPyConnection", run: Run, fused: FusedPass, place: int, engine: Engine
) -> Measurement:
    request = fused.requests[place]
    metric = request.metric
    groups = _groups(connection, fused, place)
    (total,) = (group for group in groups if group["depth"] == 0)
    rows = int(total["n_rows"] or 0)
    if not rows:
        return _nothing(request)
    by_seed = [group for group in groups if group["depth"] == 1]
    by_step = [group for group in groups if group["depth"] == 2]
    if metric.quantile is not None:
        _pool(run, request, engine, total, by_seed, by_step)
    return Measurement(
        value=_aggregate(metric, total["value"], [row["value"] for row in by_step]),
        beside=mean_of([row["beside"] for row in by_step]) if "beside" in total else None,
        reach=total.get("reach"),
        numerator=total.get("numerator"),
        denominator=int(total["denominator"]) if "denominator" in total else len(by_step),
        rows=rows,
        invalid=int(total["invalid"] or 0),
        steps=tuple(_step_value(request, row) for row in by_step if row["value"] is not None),
        seeds=tuple(
            SeedValue(row["seed"], value)
            for row in by_seed
            if (value := _aggregate(metric, row["value"], _values(by_step, row["seed"]))) is not None
        ),
        sql=request.reproducing_query(),
    )


def _groups(connection: "duckdb.DuckDBPyConnection", fused: FusedPass, place: int) -> list[dict[str, Any]]:
    """Return one row for all partials together, one a seed and one a step (and update), sorted."""
    request = fused.requests[place]
    columns = _columns(request, fused.quantiles[place])
    sql = pass_text("finish").format(
        by_update=', "update"' if request.by_update else "",
        rows=f'"update" = {request.update:d}' if fused.by_update and request.update is not None else "true",
        columns=", ".join(f"{text} AS {name}" for name, text in columns.items()),
        held=", ".join(f"{column} AS {name}" for name, column in fused.places[place].items()),
    )
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _columns(request: Request, quantile: int | None) -> dict[str, str]:
    metric, parameters = request.metric, request.parameters
    totals = {"n_rows": "sum(n_rows)", "invalid": "sum(invalid)"}
    if quantile is not None:
        # A step's quantile is whole in its own batch; those of several steps do not merge.
        return {"value": f"max(quantiles[{quantile + 1}])", "denominator": "sum(n_rows)"} | totals
    columns = {"value": metric.fill(metric.blocks["finish"], parameters)}
    names = {name for name, _ in metric.partials}
    if metric.is_share:
        columns["numerator"] = "sum(numerator)"
    if "denominator" in names:
        columns["denominator"] = "sum(denominator)"
    if "beside" in metric.blocks:
        columns["beside"] = metric.fill(metric.blocks["beside"], parameters)
    if request.with_reach:
        columns["reach"] = "max(reach)"
    return columns | totals


def _pool(
    run: Run,
    request: Request,
    engine: Engine,
    total: dict[str, Any],
    by_seed: list[dict[str, Any]],
    by_step: list[dict[str, Any]],
) -> None:
    """Put the pooled quantiles of all rows and of each seed in the place of the largest of the steps'."""
    unknown = None if request.by_update or request.profile_only else math.nan
    if unknown is None or total["invalid"] or any(math.isnan(row["value"]) for row in by_step):
        for row in (total, *by_seed):
            row["value"] = unknown
        return
    pooled = pooled_quantiles(run, request, engine, [(row["seed"], row["n_rows"], row["value"]) for row in by_step])
    total["value"] = pooled[None]
    for row in by_seed:
        row["value"] = pooled[row["seed"]]


def _step_value(request: Request, row: Mapping[str, Any]) -> StepValue:
    return StepValue(
        request.arm,
        row["seed"],
        row["step"],
        row["value"],
        row.get("numerator"),
        int(row.get("denominator") or 1),
        row.get("update", request.update),
    )


def _values(by_step: list[dict[str, Any]], seed: int) -> list[Any]:
    return [row["value"] for row in by_step if row["seed"] == seed]


def _aggregate(metric: Metric, pooled: Any, by_step: list[Any]) -> float | str | None:
    if metric.over == "mean_of_steps":
        return mean_of(by_step)
    if metric.over == "every_step":
        distinct = sorted(set(by_step))
        if isinstance(distinct[0], str):
            return " and ".join(distinct)
        return float(distinct[0])
    return pooled if pooled is None else float(pooled)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there; not finite where one is not or their sum overflows."""
    known = [value for value in values if value is not None]
    try:
        return math.fsum(known) / len(known) if known else None
    except (OverflowError, ValueError):
        # A sum beyond a double, or infinities of both signs: whoever judges the figure says so.
        return sum(known) / len(known)
