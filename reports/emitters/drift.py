"""Drift for a terminal, as JSON, for CI, and as charts in a file."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from audits.engine.counterfactual import RuleShare
from audits.engine.drift import DriftReport, DriftRow
from reports.chart_page import Chart, ChartPage, write_chart_page
from reports.charts import spec
from reports.display import brief, count, number, text
from reports.emitters.contracts import checks_object, with_reasons
from reports.emitters.emit import emit_checks
from reports.emitters.json import dumps
from reports.emitters.rows import rows_table
from reports.sections.drift import drift_figures
from reports.series import thin

_ABSENT = {
    "masked_share": "the plan has no mask by a binary divergence",
    "clip_share": "the plan has no ratio clip",
    "reward": "rollouts were not logged for this step",
}
_BLOCKS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 48
_NAMES = (
    "arm",
    "seed",
    "step",
    "update",
    "tokens",
    "masked",
    "clipped",
    "|dp| q50",
    "q90",
    "q99",
    "KL k3",
    "ESS",
    "reward",
)


def emit_drift(report: DriftReport, format: str, stream: TextIO, *, rows: int) -> None:
    """Write the drift as `table`, `json`, `junit` or `github`.

    Args:
        report: the drift.
        format: one of the four; the last two have the checks only.
        stream: usually stdout.
        rows: updates that the table shows at most, evenly chosen over the steps; JSON has all.
    """
    if format == "json":
        stream.write(dumps(drift_object(report)) + "\n")
        return
    emit_checks(report.checks, format, stream, command="drift")
    if format == "table":
        parts = [_sparks(report.rows), _table(report.rows, rows), _shares(report.shares), _curve(report.curve)]
        stream.write("".join(f"\n{part}\n" for part in parts if part))


def drift_object(report: DriftReport) -> dict[str, Any]:
    """Return what `audit drift --format json` prints: the contract of checks, with the rows they rest on."""
    return {
        **checks_object(report.checks),
        "rows": [with_reasons(vars(row).copy(), _ABSENT) for row in report.rows],
        "rules": [_share_object(share) for share in report.shares],
        "curve": [_share_object(share) for share in report.curve],
    }


def write_drift_chart(report: DriftReport, path: Path) -> None:
    """Draw the drift over steps into a new or existing .html or .svg file.

    Raises:
        AuditError: another ending, or the file cannot be written.
    """
    charts = [
        Chart(spec(figure.chart), figure.label, f"{figure.takeaway} {figure.caption}")
        for figure in drift_figures(report.rows)
    ]
    page = ChartPage(
        kind="Drift",
        title=f"Drift from the sampler: {text(report.checks.run, 120)}",
        sentences=tuple(
            f"{check.id} ({text(check.arm or '', 40)}): {text(check.reason or '')}"
            for check in report.checks.checks
            if check.status == "warn"
        ),
        columns=("arm", "rule", "update", "share", "tokens", "loss tokens", "steps at zero"),
        rows=tuple(_share_cells(share) for share in (*report.shares, *report.curve)),
        notes=("Shares are over the loss tokens of one update, mean of the steps; updates are counted from 0.",),
        charts=tuple(charts),
    )
    write_chart_page(page, path)


def _table(drift: Sequence[DriftRow], most: int) -> str:
    series = {(row.arm, row.seed, row.update) for row in drift}
    kept, stride = thin([row.step for row in drift], max(1, most // max(1, len(series))))
    chosen = set(kept)
    shown = [row for row in drift if row.step in chosen]
    cells = [
        (
            text(row.arm, 24), row.seed, row.step, row.update, row.loss_tokens, _share(row.masked_share),
            _share(row.clip_share), brief(row.abs_p_q50), brief(row.abs_p_q90), brief(row.abs_p_q99), brief(row.kl_k3),
            brief(row.effective_sample_size), "–" if row.reward is None else number(row.reward, 3),
        )
        for row in shown
    ]  # fmt: skip
    drawn = rows_table(_NAMES, iter(cells), len(cells))
    if stride > 1:
        drawn += f"\n{count(len(shown))} of {count(len(drift))} updates, evenly chosen; --rows for more"
    return drawn


def _share(value: float | None) -> str:
    return "–" if value is None else brief(value)


def _sparks(drift: Sequence[DriftRow]) -> str:
    """Return a line of blocks for each arm, seed and update: the 90th percentile of |dp| over the steps."""
    series = sorted({(row.arm, row.seed, row.update) for row in drift})
    finite = [row.abs_p_q90 for row in drift if math.isfinite(row.abs_p_q90)]
    if not finite or len({row.step for row in drift}) < 2:
        return ""
    highest = max(finite)
    lines = [f"90th percentile of |dp| over steps, from 0 to {brief(highest)}"]
    for arm, seed, update in series[:24]:
        values = [row.abs_p_q90 for row in drift if (row.arm, row.seed, row.update) == (arm, seed, update)]
        lines.append(f"{text(arm, 24)} seed {seed} update {update}  {_blocks(values, highest)}")
    if len(series) > 24:
        lines.append(f"and {count(len(series) - 24)} more combinations of arm, seed and update")
    return "\n".join(lines)


def _blocks(values: Sequence[float], highest: float) -> str:
    chosen, _ = thin(list(range(len(values))), _SPARK_WIDTH)
    return "".join(_block(values[place], highest) for place in chosen)


def _block(value: float, highest: float) -> str:
    if not math.isfinite(value):
        return "×"
    return _BLOCKS[min(7, int(8 * value / highest))] if highest > 0 else _BLOCKS[0]


def _shares(shares: Sequence[RuleShare]) -> str:
    if not shares:
        return ""
    head = f"What each rule would take away on each arm's log, update {shares[0].update}, mean of the steps"
    names = ("arm", "rule", "update", "share", "tokens", "loss tokens", "steps at zero")
    return f"{head}\n{rows_table(names, iter([_share_cells(share) for share in shares]), len(shares))}"


def _share_cells(share: RuleShare) -> tuple[str, ...]:
    return (
        text(share.arm, 24),
        str(share.rule),
        str(share.update),
        brief(share.share),
        count(share.numerator),
        count(share.denominator),
        f"{count(share.steps_at_zero)} of {count(share.steps)}",
    )


def _curve(curve: Sequence[RuleShare]) -> str:
    if not curve:
        return ""
    arms = list(dict.fromkeys(share.arm for share in curve))
    by_threshold = {(share.arm, share.rule.threshold): share.share for share in curve}
    thresholds = sorted({share.rule.threshold for share in curve})
    cells = [(f"{threshold:g}", *(brief(by_threshold[arm, threshold]) for arm in arms)) for threshold in thresholds]
    head = f"Share that {curve[0].rule.kind} would take away, by threshold, update {curve[0].update}, mean of the steps"
    return f"{head}\n{rows_table(('threshold', *(text(arm, 24) for arm in arms)), iter(cells), len(cells))}"


def _share_object(share: RuleShare) -> dict[str, Any]:
    rule = {"kind": share.rule.kind, "threshold": share.rule.threshold}
    return with_reasons({**vars(share), "rule": rule}, {})
