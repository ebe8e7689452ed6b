"""Which columns of TRL's completions are the reward: the trainer weighs several functions and logs their sum."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.errors import AuditError
from audits.store.parquet_rows import ParquetRows
from runner.importers.engine.checks import few
from runner.importers.engine.figures import Figures, is_number

PROMPT, COMPLETION, ADVANTAGE, STEP = "prompt", "completion", "advantage", "step"
_OWN = (STEP, PROMPT, COMPLETION, ADVANTAGE)
# Figures are means of float32 values.
_TOLERANCE = 1e-5


def reward_columns(
    completions: Mapping[int, Path], figures: Figures, mapping: Mapping[str, str]
) -> tuple[tuple[str, ...], str]:
    """Return the columns whose sum is the reward, and why they are taken for it.

    Args:
        completions: files of completions by step.
        figures: what the trainer logged; it names the reward functions.
        mapping: `reward` names columns, joined by `+`, where this was said.

    Raises:
        AuditError: the source does not say how several functions make the reward, or a column is not there.
    """
    first = next(iter(completions.values()))
    columns = [name for name in ParquetRows(first).columns if name not in _OWN]
    if "reward" in mapping:
        named = tuple(mapping["reward"].split("+"))
        missing = [name for name in named if name not in columns]
        if missing:
            raise AuditError(f"--map reward: {first} has no column {few(missing)} (columns: {few(columns)})")
        return named, "as --map says"
    functions = [name for name in columns if figures.of(f"rewards/{name}/mean")]
    if not functions and len(columns) == 1:
        functions = columns
    if len(functions) == 1:
        return (functions[0],), "the only reward function"
    if functions and _is_plain_sum(functions, completions, figures.of("reward")):
        return tuple(functions), "whose mean is the reward that the trainer logged"
    choice = functions or columns
    raise AuditError(
        f"{first}: {few(choice)} may be rewards, and the source does not say with which weights they were summed. Say "
        f"which is meant, as in --map reward={'+'.join(choice[:2]) or 'COLUMN'}"
    )


def reward(row: Mapping[str, object], columns: Sequence[str], where: str) -> float | None:
    """Return the reward of a row as TRL sums it: without the functions that gave none; None where none gave any.

    Raises:
        AuditError: a column holds no number.
    """
    stated = []
    for name in columns:
        value = row.get(name)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        if not is_number(value) or math.isinf(float(value)):  # type: ignore[arg-type]
            raise AuditError(f'{where}: reward "{name:.80}" is no finite number')
        stated.append(float(value))  # type: ignore[arg-type]
    return math.fsum(stated) if stated else None


def _is_plain_sum(names: Sequence[str], completions: Mapping[int, Path], logged: Mapping[int, float]) -> bool:
    """Return whether the mean of the plain sum is what was logged, at every step that has both."""
    shared = [step for step in completions if step in logged]
    return bool(shared) and all(
        (mean := _mean(names, completions[step])) is not None
        and abs(mean - logged[step]) <= _TOLERANCE * max(1.0, abs(logged[step]))
        for step in shared
    )


def _mean(names: Sequence[str], path: Path) -> float | None:
    rows = ParquetRows(path)
    if not set(names) <= set(rows.columns):
        return None
    found = [reward(row, names, str(path)) for row in rows.records(names)]
    stated = [value for value in found if value is not None]
    return math.fsum(stated) / len(stated) if stated else None
