"""One scan for many metrics: requests with the same scope and source share a pass over the files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from audits.engine.batches import ROWS_A_BATCH, batches
from audits.engine.executors import Engine, Scan
from audits.engine.request import Request
from audits.store.reader import Run
from audits.store.scan import Batch
from audits.store.schema import SQL_FOLDER

CHECKED_SOURCES = frozenset({"loss_tokens", "topk_loss_tokens", "reward_groups"})
"""Views with a column `is_valid`."""


@cache
def pass_text(name: str) -> str:
    """Return the SQL of a pass, its {names} to be filled."""
    text = (SQL_FOLDER / "passes" / f"{name}.sql").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


@dataclass(frozen=True)
class FusedPass:
    """Requests that one scan answers, and the column in which each partial of each request stands.

    Attributes:
        requests: they agree in source, arm, seeds and steps, and in the update unless it is a column of the partials.
        where: the condition of the rows that are read.
        by_update: whether the partials are of each update, so that a request may be of one of them or of all.
        columns: SQL by column name; an expression that several metrics need stands there once.
        places: column name of each partial by its name in the metric's file, for each request.
        quantiles: for each request, the place of its quantile in its column's list; None for other metrics.
    """

    requests: tuple[Request, ...]
    where: str
    by_update: bool
    columns: Mapping[str, str]
    places: tuple[Mapping[str, str], ...]
    quantiles: tuple[int | None, ...]

    @property
    def sql(self) -> str:
        """The query of one batch."""
        source = self.requests[0].metric.source
        invalid = "NOT is_valid" if source in CHECKED_SOURCES else "false"
        return pass_text("partials").format(
            by_update=' "update",' if self.by_update else "",
            invalid=invalid,
            columns="".join(f",\n    {text} AS {name}" for name, text in self.columns.items()),
            source=source,
            where=self.where,
        )

    def scans(self, run: Run, engine: Engine) -> Iterator[Scan]:
        """Yield one scan a batch of the files that can hold a row of the requests."""
        for batch in batches_of(run, self.requests[0], engine):
            yield Scan(batch, self.sql)


def batches_of(run: Run, request: Request, engine: Engine) -> Iterator[Batch]:
    """Yield batches of the files that can hold a row of a request."""
    records = request.records(run)
    return batches(run.path, request.metric.table, records, engine.rows_a_batch or ROWS_A_BATCH)


def fuse(requests: Iterable[Request]) -> Iterator[FusedPass]:
    """Put requests that one scan can answer together, in their order.

    Where the figures of each update are asked for anyway, their partials answer what is asked of one update or of all
    together, too: partials merge. Only a quantile over several updates needs its own scan.
    """
    asked = list(requests)
    by_update = {_rows_of(request) for request in asked if request.by_update and request.update is None}
    together: dict[tuple[str, str, bool], list[Request]] = {}
    for request in asked:
        if _rows_of(request) in by_update and _follows_from_updates(request):
            key = (request.metric.source, request.scope_of_all_updates, True)
        else:
            key = (request.metric.source, request.scope, request.by_update)
        together.setdefault(key, []).append(request)
    for (_, where, each), group in together.items():
        yield _fused(group, where, each)


def _rows_of(request: Request) -> tuple[str, str]:
    return request.metric.source, request.scope_of_all_updates


def _follows_from_updates(request: Request) -> bool:
    one_update = request.update is not None or request.by_update
    return request.metric.source == "loss_tokens" and (request.metric.quantile is None or one_update)


def _fused(requests: Sequence[Request], where: str, by_update: bool) -> FusedPass:
    orders = _orders(requests)
    columns: dict[str, str] = {}
    names: dict[str, str] = {}

    def column(text: str) -> str:
        if text not in names:
            names[text] = f"partial_{len(names)}"
            columns[names[text]] = text
        return names[text]

    places: list[Mapping[str, str]] = []
    quantiles: list[int | None] = []
    for request in requests:
        metric = request.metric
        if metric.quantile is None:
            partials = (*metric.partials, *([("reach", metric.blocks["reach"])] if request.with_reach else []))
            filled = ((name, metric.fill(text, request.parameters)) for name, text in partials)
            places.append({name: column(text) for name, text in filled})
            quantiles.append(None)
        else:
            value = value_of(request)
            wanted = orders[value]
            places.append({"quantiles": column(f"quantile_cont(({value})::DOUBLE, {wanted!r})")})
            quantiles.append(wanted.index(metric.quantile))
    return FusedPass(tuple(requests), where, by_update, columns, tuple(places), tuple(quantiles))


def value_of(request: Request) -> str:
    """Return the SQL of the values whose quantile a request asks for."""
    return request.metric.fill(request.metric.blocks["values"], request.parameters)


def _orders(requests: Sequence[Request]) -> dict[str, list[float]]:
    """Return the sorted orders of all quantiles of the same values: one list costs little more than one quantile."""
    found: dict[str, set[float]] = {}
    for request in requests:
        if request.metric.quantile is not None:
            found.setdefault(value_of(request), set()).add(request.metric.quantile)
    return {value: sorted(orders) for value, orders in found.items()}
