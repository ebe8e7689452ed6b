"""What must hold of any source before a run is made of it: ids, scores, and the same items in every arm."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.layout import partition_folder
from audits.store.writer import Columns
from runner.importers.engine.imported import Imported, ImportedArm

_LISTED = 8
_LONGEST = 100
_LONGEST_FOLDER = 100


def check(imported: Imported) -> None:
    """Check what was read.

    Raises:
        AuditError: nothing to import, an item without an id or twice, a score outside 0 to 1 or without a reason for
            being absent, or arms whose final items differ; arms and item ids are named.
    """
    tables = any(arm.evals or arm.rollouts or arm.scalars for arm in imported.arms)
    if not tables and not (imported.planned and imported.executed):
        raise AuditError(f"{', '.join(file.name for file in imported.files)}: holds no row to import")
    _check_statements(imported)
    for arm in imported.arms:
        if not is_folder_name(arm.record.arm):
            raise AuditError(f"arm {short(arm.record.arm)!r}: no short name; give it one, as in --arm baseline=…")
        for checkpoint, columns in arm.evals.items():
            _check_evals(f"{arm.record.name}, {checkpoint}", columns)
    finals = [arm for arm in imported.arms if "final" in arm.evals]
    for arm in finals[1:]:
        _check_same_items(finals[0], arm)


def is_folder_name(name: str) -> bool:
    """Return whether an arm may be called so: printable, not empty, and short enough for a folder."""
    named = name == name.strip() and name.isprintable() and name != ""
    return named and len(partition_folder("evals", name, 0).parts[1]) <= _LONGEST_FOLDER


def few(entries: Sequence[str]) -> str:
    """Return the first entries of a list for a message, each cut, and how many more there are."""
    shown = ", ".join(short(entry) for entry in entries[:_LISTED])
    return shown + (f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, `1 step` or `2 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(text: str) -> str:
    """Return foreign text for a message."""
    return printable(text, limit=_LONGEST)


def _check_statements(imported: Imported) -> None:
    """Check that what goes into `run.json` can be written and read again as JSON."""
    said = [imported.planned, imported.executed, imported.details, *(arm.record.model_dump() for arm in imported.arms)]
    try:
        json.dumps([dict(entry) for entry in said], ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError as error:
        # Half a surrogate pair, or a number that is not finite.
        names = ", ".join(file.name for file in imported.files)
        raise AuditError(f"{names}: a setting cannot be written to run.json ({error!s:.200})") from error


def _check_evals(where: str, columns: Columns) -> None:
    if "" in columns["item_id"]:
        raise AuditError(f"{where}: row {list(columns['item_id']).index('')} has no item id: an item needs one")
    samples = Counter(zip(columns["item_id"], columns["sample"], strict=True))
    twice = [f"{item} (sample {sample}, {n} times)" for (item, sample), n in samples.items() if n > 1]
    if twice:
        raise AuditError(f"{where}: {len(twice)} items stand more than once: {few(twice)}. Each needs one row a sample")
    faults = [f"{item}: {fault}" for item, fault in _score_faults(columns)]
    if faults:
        raise AuditError(f"{where}: {len(faults)} rows have no score from 0 to 1: {few(faults)}")


def _score_faults(columns: Columns) -> Iterator[tuple[str, str]]:
    errors: Sequence[Any] = columns.get("error", [None] * len(columns["item_id"]))
    for item, score, error in zip(columns["item_id"], columns["score"], errors, strict=True):
        if score is None and error is None:
            yield item, "neither score nor error"
        elif score is not None and error is not None:
            yield item, f"score {score} and an error too"
        elif score is not None and not (math.isfinite(score) and 0 <= score <= 1):
            yield item, f"score {score}"


def _check_same_items(first: ImportedArm, other: ImportedArm) -> None:
    here, there = set(first.evals["final"]["item_id"]), set(other.evals["final"]["item_id"])
    names = _name(first), _name(other)
    if here != there:
        only = [f"{len(found)} only in {name}: {few(sorted(found))}"
                for name, found in zip(names, (here - there, there - here), strict=True) if found]  # fmt: skip
        raise AuditError(f"the arms hold other items ({len(here & there)} are in both); {'; '.join(only)}")
    for what, texts in (("gold", _golds), ("text", lambda arm: arm.item_texts)):
        _check_agreement(what, names, texts(first), texts(other))


def _check_agreement(what: str, names: tuple[str, str], first: Mapping[str, str], other: Mapping[str, str]) -> None:
    differing = [
        f"{item} ({short(first[item])!r} and {short(other[item])!r})"
        for item in first
        if item in other and first[item] != other[item]
    ]
    if differing:
        raise AuditError(
            f"{len(differing)} items have another {what} in {names[0]} than in {names[1]}: {few(differing)}. "
            "The ids do not mean the same items, so nothing can be paired"
        )


def _golds(arm: ImportedArm) -> dict[str, str]:
    columns = arm.evals["final"]
    if "gold" not in columns:
        return {}
    pairs = zip(columns["item_id"], columns["gold"], strict=True)
    return {item: gold for item, gold in pairs if gold is not None}


def _name(arm: ImportedArm) -> str:
    return f"{arm.record.name} (seed {arm.record.seed})"
