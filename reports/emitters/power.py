"""The answer about power as a table, as JSON, and as a chart in a file."""

from pathlib import Path
from typing import Any, TextIO

from analysis.power_answer import Observed, PowerAnswer, Study
from analysis.power_study import Row
from reports.chart_page import Chart, ChartPage, write_chart_page
from reports.display import count, text
from reports.emitters.json import dumps
from reports.power_chart import Curve, power_spec

_ABSENT = "–"


def emit_power(answer: PowerAnswer, format: str, stream: TextIO) -> None:
    """Write the answer as `table` or `json`."""
    stream.write((dumps(power_object(answer)) if format == "json" else power_text(answer)) + "\n")


def power_object(answer: PowerAnswer) -> dict[str, Any]:
    """Return the answer as one JSON object; a missing number is null with a reason beside it."""
    return {
        "studies": [_study_object(study) for study in answer.studies],
        "observed": None
        if answer.observed is None
        else {**vars(answer.observed), "discordance": answer.observed.share},
        "notes": [*answer.notes, *_observed_notes(answer.observed)],
    }


def power_text(answer: PowerAnswer) -> str:
    """Return a table for each method, gaps in percentage points."""
    parts = []
    for study in answer.studies:
        columns, rows = _columns(study), [_cells(study, row) for row in study.rows]
        widths = [max(len(cell) for cell in cells) for cells in zip(columns, *rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (columns, *rows)
        ]
        parts.append("\n".join([_head(study), f"{study.computation[:1].upper()}{study.computation[1:]}.", "", *lines]))
    notes = [f"Note: {note}." for note in (*answer.notes, *_observed_notes(answer.observed))]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def write_chart(answer: PowerAnswer, path: Path) -> None:
    """Draw power against the gap into a new or existing .html or .svg file.

    Raises:
        AuditError: another ending, or the file cannot be written.
    """
    write_chart_page(_page(answer), path)


def _page(answer: PowerAnswer) -> ChartPage:
    first = answer.studies[0]
    several = len(answer.studies) > 1
    columns = tuple(dict.fromkeys(name for study in answer.studies for name in _columns(study)))
    rows = []
    for study in answer.studies:
        for row in study.rows:
            cells = dict(zip(_columns(study), _cells(study, row), strict=True))
            rows.append((study.setting.method.id, *(cells.get(name, _ABSENT) for name in columns)))
    title = "What these methods can show" if several else f"What {first.setting.method.id} can show"
    curves = [
        Curve(study.setting.method.id, row.discordance, row.curve) for study in answer.studies for row in study.rows
    ]
    target = first.setting.target
    return ChartPage(
        kind="Power",
        title=f"{title} with {count(first.setting.n_items)} items",
        sentences=tuple(f"{_head(study)}. {study.computation.capitalize()}." for study in answer.studies),
        columns=("method", *columns),
        rows=tuple(rows),
        notes=(*answer.notes, *_observed_notes(answer.observed)),
        charts=(
            Chart(
                power_spec(curves, target),
                "Power against the true gap, a line for each discordance; the table has the same figures.",
                f"Dotted: a power of {100 * target:.0f} %.",
            ),
        ),
    )


def _head(study: Study) -> str:
    setting = study.setting
    where = "" if study.criterion is None else f", {text(study.criterion)}"
    return (
        f"{setting.method.id} ({setting.method.info.guarantee}) at {count(setting.n_items)} items, alpha "
        f"{setting.alpha:g}, margin {setting.margin:g}, power {100 * setting.target:g} %{where}"
    )


def _columns(study: Study) -> tuple[str, ...]:
    """Return the heads of the columns that were asked for."""
    setting = study.setting
    names = ["discordance", "half-width", "detectable gap"]
    for asked in study.rows[0].gaps:
        names += [f"power at {_points(asked.gap)}", "items needed"] if len(study.rows[0].gaps) == 1 else [
            f"power at {_points(asked.gap)}", f"items for {_points(asked.gap)}"
        ]  # fmt: skip
    if setting.band is not None:
        names += [f"tie within {_points(setting.band)}", "smallest band"]
    if setting.half_width is not None:
        names += [f"items for half-width {_points(setting.half_width)}"]
    return tuple(names)


def _cells(study: Study, row: Row) -> tuple[str, ...]:
    detectable = "never" if row.detectable_gap is None else _points(row.detectable_gap)
    cells = [f"{100 * row.discordance:.4g} %", _points(row.half_width), detectable]
    for asked in row.gaps:
        cells += [_ABSENT if asked.power is None else f"{100 * asked.power:.1f} %", _items(asked.items)]
    if row.tie is not None:
        band = row.tie.smallest_band
        cells += [f"{100 * row.tie.power:.1f} %", "none" if band is None else _points(band)]
    if study.setting.half_width is not None:
        cells += [_items(row.items_for_half_width)]
    return tuple(cells)


def _points(share: float) -> str:
    return f"{100 * share:.2f} pp"


def _items(items: int | None) -> str:
    return _ABSENT if items is None else count(items)


def _study_object(study: Study) -> dict[str, Any]:
    setting = study.setting
    return {
        "method": setting.method.id,
        "guarantee": setting.method.info.guarantee,
        "computation": study.computation,
        "criterion": study.criterion,
        "n_items": setting.n_items,
        "alpha": setting.alpha,
        "margin": setting.margin,
        "band": setting.band,
        "target": setting.target,
        "half_width": setting.half_width,
        "seed": setting.seed,
        "rows": [_row_object(row) for row in study.rows],
    }


def _row_object(row: Row) -> dict[str, Any]:
    found = {name: value for name, value in vars(row).items() if name not in {"curve", "gaps", "tie"}}
    found["detectable_gap_reason"] = (
        None if row.detectable_gap is not None else "not even the largest possible gap reaches the target"
    )
    found["gaps"] = [{**vars(asked), "reason": _reason(asked.power, asked.items)} for asked in row.gaps]
    found["tie"] = row.tie
    return found


def _reason(power: float | None, items: int | None) -> str | None:
    if power is None:
        return "the gap exceeds the discordance: no two systems differ so"
    return None if items is not None else "the gap is not above the margin, or a million items are too few"


def _observed_notes(observed: Observed | None) -> list[str]:
    if observed is None:
        return []
    return [
        f"{text(observed.run)} shows {count(observed.discordant)} discordant of {count(observed.n_items)} items "
        f"({100 * observed.share:.2f} %), which is itself uncertain: its exact 95 % interval reaches from "
        f"{100 * observed.low:.2f} to {100 * observed.high:.2f} %, and the table has all three"
    ]
