"""The error of critics for a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from analysis.advantage_errors import AdvantageError
from audits.engine.critic import SQL, CriticArm, CriticReport, Measured
from audits.engine.crossover import LEFT, Crossover, crossover
from reports.critic_tables import critic_tables
from reports.critic_words import NAME_LIMIT, OWN_REWARD, axis_text, reaches, refusal_text
from reports.display import brief, command, count, number, text
from reports.emitters.contracts import with_reasons
from reports.emitters.json import dumps
from reports.emitters.rows import rows_table

_NO_SLOPE = "the Monte Carlo estimates do not vary beyond their noise"
_NO_CORRELATION = "one of both does not vary"


def emit_critic(report: CriticReport, format: str, stream: TextIO) -> None:
    """Write the report as `table` or `json`."""
    if format == "json":
        stream.write(dumps(critic_object(report)) + "\n")
    else:
        stream.write("\n\n".join(_parts(report)) + "\n")


def critic_object(report: CriticReport) -> dict[str, Any]:
    """Return what `audit critic --format json` prints."""
    found = crossover(report)
    return {
        "run": report.run,
        "status": report.status,
        "reasons": [] if report.missing is None else [report.missing],
        "arms": [_arm_object(arm) for arm in report.arms],
        "crossover": {
            "drawn": not found.refusals,
            "refusals": list(found.refusals),
            "finished": found.finished,
            "cells": found.cells,
            "points": [_point_object(point) for point in found.points],
        },
        "sql": dict(SQL),
    }


def _arm_object(arm: CriticArm) -> dict[str, Any]:
    settings, measured = arm.settings, arm.measured
    without = "its advantages are not a critic's" if arm.planned else "no plan says where its advantages come from"
    body = {
        "arm": arm.arm,
        "capacity": None if settings is None else settings.critic.capacity,
        "discount": None if settings is None else settings.discount,
        "decay": None if settings is None else settings.decay,
        "normalization": arm.normalization if arm.planned else None,
        "parameters": arm.parameters,
        "hidden_size": arm.hidden_size,
        "reaches": reaches(arm),
        "left": {
            "of": LEFT[arm.normalization],
            **with_reasons({"mean_squared": arm.left}, {"mean_squared": measured.reason or _NO_SLOPE}),
        },
        **_measured_object(measured),
        "calibration": {
            "advantages": [asdict(one) for one in arm.advantage_bins],
            "values": [asdict(one) for one in arm.value_bins],
        },
        "seeds": [
            with_reasons(
                {
                    "seed": own.seed,
                    "parameters": own.parameters,
                    "accuracy": own.accuracy,
                    "sampled_tokens": own.sampled_tokens,
                    "optimizer_updates": own.optimizer_updates,
                    **_measured_object(own.measured),
                },
                {
                    "parameters": without if settings is None else "run.json does not say",
                    "accuracy": "no final evaluation in which every answer has a score",
                    "sampled_tokens": "rollouts, or their lengths, were not logged",
                    "optimizer_updates": "updates were not logged",
                    **_absent(own.measured, without),
                },
            )
            for own in arm.seeds
        ],
    }
    return with_reasons(
        body,
        {
            **dict.fromkeys(("capacity", "discount", "decay", "normalization", "hidden_size"), without),
            "parameters": without if settings is None else "run.json does not say, or its seeds differ",
            **_absent(measured, without),
        },
    )


def _measured_object(measured: Measured) -> dict[str, Any]:
    return {
        "advantages": None if measured.advantages is None else _error_object(measured.advantages),
        "values": None if measured.values is None else _error_object(measured.values),
        "cosine": measured.cosine,
        "cosine_steps": measured.cosine_steps,
    }


def _absent(measured: Measured, without: str) -> dict[str, str]:
    return {
        "advantages": measured.reason or "not measured",
        "values": measured.reason or without,
        "cosine": "no measured step has gradients of a length",
    }


def _error_object(error: AdvantageError) -> dict[str, Any]:
    body = {
        **asdict(error),
        "root_mean_squared": error.root_mean_squared,
        "centered_root_mean_squared": error.centered_root_mean_squared,
    }
    return with_reasons(
        body, {**dict.fromkeys(("slope", "scale", "residual"), _NO_SLOPE), "correlation": _NO_CORRELATION}
    )


def _point_object(point: Any) -> dict[str, Any]:
    return {
        "arm": point.arm,
        "parameters": point.parameters,
        "error": point.error,
        "error_is": f"root of {point.shown}",
        "accuracy": with_reasons(asdict(point.accuracy), {"reason": "the interval is the seeds' own"}),
    }


def _parts(report: CriticReport) -> Iterator[str]:
    if report.missing is not None:
        yield f"? INCONCLUSIVE  audit critic {text(report.run, 120)}: {text(report.missing)}"
    else:
        yield f"audit critic {text(report.run, 120)}: advantages against fresh rollouts of the same states"
    for table in critic_tables(report.arms):
        yield _titled(table.caption, [column.name for column in table.columns], table.rows)
    if report.arms:
        yield "\n".join(reaches(arm) for arm in report.arms)
    if report.missing is None:
        yield OWN_REWARD
    if report.critics:
        yield _crossover_text(report, crossover(report))
    if report.missing is None:
        yield "\n".join(["Again:", *(command("audit", "sql", report.run, sql) for sql in SQL.values())])


def _titled(title: str, names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    return f"{title}\n{rows_table(names, iter(rows), len(rows))}"


def _crossover_text(report: CriticReport, found: Crossover) -> str:
    if found.refusals:
        return refusal_text(found)
    names = ("arm", "parameters", "error", "accuracy", "lower", "upper", "seeds")
    rows = [
        (
            text(point.arm, NAME_LIMIT), count(point.parameters), brief(point.error),
            *(number(value, 4) for value in (point.accuracy.mean, point.accuracy.lower, point.accuracy.upper)),
            str(point.accuracy.seeds),
        )
        for point in found.points
    ]  # fmt: skip
    title = "Accuracy against advantage error by critic"
    axes = f"error: {axis_text(report.critics)}; accuracy: mean over training seeds with its 95 % t interval"
    return f"{_titled(title, names, rows)}\n{axes}"
