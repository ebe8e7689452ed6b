"""The check of a metric before it is judged: what was asked, and the figures that were measured."""

from collections.abc import Mapping
from dataclasses import replace

from audits.engine.check import Check, Limit
from audits.engine.measure import Measurement
from audits.engine.metric import Metric


def unmeasured(
    metric: Metric, parameters: Mapping[str, str], *, arm: str | None, limit: Limit | None, measures: str
) -> Check:
    """Return the check of a metric of which nothing was measured yet: `inconclusive`, without a figure.

    Args:
        metric: the metric.
        parameters: text of the loss parameters by name.
        arm: the arm's condition, None for no arm.
        limit: of the plan, None where the metric is only watched.
        measures: what the check asks, in words.
    """
    return Check(
        id=metric.id,
        status="inconclusive",
        value=None,
        limit=limit,
        unit=metric.header["unit"],
        definition=metric.fill(metric.header["definition"], parameters),
        arm=arm,
        rows_examined=0,
        measures=measures,
    )


def with_figures(check: Check, metric: Metric, found: Measurement) -> Check:
    """Return the check with what was measured; its status is left to whoever judges it."""
    return replace(
        check,
        value=found.value,
        numerator=found.numerator,
        denominator=found.denominator,
        rows_examined=found.rows,
        over=metric.over,
        steps=found.steps,
        sql=found.sql,
    )


def invalid_reason(found: Measurement) -> str:
    """Return why rows that are no numbers leave no figure."""
    return f"{found.invalid} of {found.rows} rows are NaN, infinite or a probability above 1: no figure"
