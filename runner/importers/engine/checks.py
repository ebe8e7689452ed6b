"""What must hold of any source before a run is made of it: ids, scores, and the same items in every arm."""

import json
from collections.abc import Sequence

from analysis.errors import AuditError
from analysis.printable import printable
from audits.store.gathered import Rows
from audits.store.layout import partition_folder
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
    tables = any(arm.evals or arm.steps or arm.scalars for arm in imported.arms)
    if not tables and not (imported.planned and imported.executed):
        raise AuditError(f"{', '.join(file.name for file in imported.files)}: holds no row to import")
    _check_statements(imported)
    for arm in imported.arms:
        if not is_folder_name(arm.record.arm):
            raise AuditError(f"arm {short(arm.record.arm)!r}: no short name; give it one, as in --arm baseline=…")
        for checkpoint, rows in arm.evals.items():
            _check_evals(f"{arm.record.name}, {checkpoint}", rows)
    finals = [arm for arm in imported.arms if "final" in arm.evals]
    for arm in finals[1:]:
        _check_same_items(finals[0], arm)


def is_folder_name(name: str) -> bool:
    """Return whether an arm may be called so: printable, not empty, and short enough for a folder."""
    named = name == name.strip() and name.isprintable() and name != ""
    return named and len(partition_folder("evals", name, 0).parts[1]) <= _LONGEST_FOLDER


def few(entries: Sequence[str], total: int | None = None) -> str:
    """Return the first entries of a list for a message, each cut, and how many more there are.

    Args:
        entries: the list, or its beginning.
        total: how many there are, None where `entries` are all.
    """
    shown = ", ".join(short(entry) for entry in entries[:_LISTED])
    more = (len(entries) if total is None else total) - _LISTED
    return shown + (f" and {more} more" if more > 0 else "")


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


def _check_evals(where: str, rows: Rows) -> None:
    (_, without_id) = rows.ask("items")[0]
    if without_id:
        raise AuditError(f"{where}: {counted(without_id, 'row')} without an item id: an item needs one")
    twice = rows.ask("repeated_items")
    if twice:
        named = [f"{item} (sample {sample}, {found} times)" for item, sample, found, _ in twice]
        total = twice[0][-1]
        raise AuditError(
            f"{where}: {total} items stand more than once: {few(named, total)}. Each needs one row a sample"
        )
    faults = rows.ask("score_faults")
    if faults:
        named = [f"{item}: {_score_fault(score, has_error)}" for item, score, has_error, _ in faults]
        total = faults[0][-1]
        raise AuditError(f"{where}: {total} rows have no score from 0 to 1: {few(named, total)}")


def _score_fault(score: float | None, has_error: bool) -> str:
    if score is None:
        return "neither score nor error"
    return f"score {score} and an error too" if has_error else f"score {score}"


def _check_same_items(first: ImportedArm, other: ImportedArm) -> None:
    here, there = first.evals["final"], other.evals["final"]
    names = _name(first), _name(other)
    alone = [(name, rows.ask("unmatched_items", others=others))
             for name, rows, others in ((names[0], here, there), (names[1], there, here))]  # fmt: skip
    if any(found for _, found in alone):
        only = [f"{found[0][1]} only in {name}: {few([item for item, *_ in found], found[0][1])}"
                for name, found in alone if found]  # fmt: skip
        shared = next(found[0][2] for _, found in alone if found)
        raise AuditError(f"the arms hold other items ({shared} are in both); {'; '.join(only)}")
    _check_agreement("gold", names, here.ask("differing_golds", others=there))
    texts = [(item, text, other.item_texts[item]) for item, text in first.item_texts.items()
             if other.item_texts.get(item, text) != text]  # fmt: skip
    _check_agreement("text", names, [(*differing, len(texts)) for differing in texts])


def _check_agreement(what: str, names: tuple[str, str], differing: Sequence[tuple[str, str, str, int]]) -> None:
    if differing:
        total = differing[0][-1]
        shown = [f"{item} ({short(here)!r} and {short(there)!r})" for item, here, there, _ in differing]
        raise AuditError(
            f"{total} items have another {what} in {names[0]} than in {names[1]}: {few(shown, total)}. "
            "The ids do not mean the same items, so nothing can be paired"
        )


def _name(arm: ImportedArm) -> str:
    return f"{arm.record.name} (seed {arm.record.seed})"
