"""From what stands on the command line to a run directory: which importer reads what, and what is told of it."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.errors import AuditError
from analysis.nearest import nearest_name
from audits.store.gathered import Scratch
from audits.store.preflights import require_free
from runner.importers.engine.checks import check, counted, few, short
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.registry import importer_id, known_importer, load_importer, recognise
from runner.importers.engine.roles import check_role, together, with_roles
from runner.importers.engine.source_files import refuse_pickle
from runner.importers.engine.writing import write_run

Pairs = Sequence[tuple[str, str]]


def import_run(
    words: Sequence[str],
    *,
    arms: Pairs,
    item: str | None,
    mapping: Pairs = (),
    out: Path | None,
    command_line: list[str],
) -> str:
    """Import one source, or one an arm.

    Args:
        words: an importer's id, a path, or both in this order.
        arms: role and value; with a path in `words` the value is the source's own name of an arm, else a path.
        item: column that names the item.
        mapping: field and what in the source it is taken from.
        out: run directory to make; None describes what it would hold and writes nothing.
        command_line: for the manifest.

    Returns:
        What was imported, as lines for a person.

    Raises:
        AuditError: what was named is not there or not what it should be.
    """
    if out is not None:
        require_free(out, None)
    for role, _ in arms:
        check_role(role)
    named, source = _named(words, arms)
    _refuse_twice("--map", mapping)
    if source is not None:
        _refuse_twice("--arm", arms)
    elif not arms:
        raise AuditError("name a source: `audit import PATH --out RUN`, or one an arm, as in --arm baseline=PATH")
    with Scratch(out) as scratch:
        options = Options(scratch, item, dict(arms) if source is not None else {}, dict(mapping))
        if source is not None:
            imported = with_roles(_read(named, source, options), dict(arms))
        else:
            read = [(role, Path(path), _read(named, Path(path), options)) for role, path in arms]
            imported = together(read, scratch)
        check(imported)
        if out is None:
            return "\n".join(["nothing was written; this would be imported:", *_description(imported)])
        write_run(imported, out, command_line)
        return "\n".join([f"{out}: {_summary(imported)}", *_told(imported, str(out))])


def _named(words: Sequence[str], arms: Pairs) -> tuple[str | None, Path | None]:
    """Return the importer's id where the first word is one, and the source where one is named."""
    if len(words) > 2:
        raise AuditError(f"{few(words)}: one source is imported at a time; several are named as --arm ROLE=PATH")
    known = importer_id(words[0]) if words else None
    if len(words) == 2:
        known_importer(words[0])
    if len(words) == 1 and known is not None and not arms:
        raise AuditError(
            f"{words[0]} is an importer: name what it reads, as `audit import {words[0]} PATH`. A file of that name is "
            f"./{words[0]}"
        )
    rest = words[1:] if known else words
    return known, Path(rest[0]) if rest else None


def _refuse_twice(option: str, pairs: Pairs) -> None:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise AuditError(f"{option} {name} is given twice")


def _read(named: str | None, source: Path, options: Options) -> Imported:
    refuse_pickle(source)
    columns_named = bool(options.item or options.arms or options.mapping)
    importer = load_importer(named or recognise(source, as_table=columns_named))
    if options.item is not None and not importer.ITEM_COLUMN:
        raise AuditError(f"--item: {source} is no table with a column to name; its items have ids of their own")
    if options.mapping and not importer.MAPPED:
        raise AuditError(f"--map: {source} has one reading, there is nothing to choose")
    return importer.read(source, options)


def _summary(imported: Imported) -> str:
    arms = imported.arms
    items = max((rows.ask("items")[0][0] for arm in arms for rows in arm.evals.values()), default=None)
    found = {table: sum(len(tables[table]) for arm in arms for tables in arm.steps.values() if table in tables)
             for table in ("rollouts", "tokens")}  # fmt: skip
    steps = {step for arm in arms if arm.scalars for step in arm.scalars.ask("steps")}
    counts = [
        *([f"{items} items"] if items is not None else []),
        *([f"figures of {counted(len(steps), 'step')}"] if steps else []),
        *([counted(found["rollouts"], "rollout")] if found["rollouts"] else []),
        *([counted(found["tokens"], "token row")] if found["tokens"] else []),
    ]
    grouped: dict[str, list[ImportedArm]] = {}
    for arm in arms:
        grouped.setdefault(arm.record.arm, []).append(arm)
    named = ", ".join(_named_arm(name, of_arm) for name, of_arm in grouped.items())
    return f"{', '.join(counts) or 'no table'}, arms {named}"


def _named_arm(name: str, arms: Sequence[ImportedArm]) -> str:
    if len(arms) > 1:
        return f"{name} ({len(arms)} seeds)"
    return name if arms[0].record.name == name else f"{name} ({arms[0].record.name})"


def _told(imported: Imported, run: str) -> Iterator[str]:
    yield from (f"note: {line}" for line in imported.notes)
    yield from (f"left out: {line}" for line in imported.ignored)
    roles = {arm.record.role for arm in imported.arms}
    evaluated = list(dict.fromkeys(arm.record.arm for arm in imported.arms if "final" in arm.evals))
    if evaluated and not {"baseline", "treatment"} <= roles:
        yield f"note: {_how_compared(evaluated, run)}"


def _how_compared(arms: Sequence[str], run: str) -> str:
    """Return how arms that are not called baseline and treatment are compared."""
    if len(arms) == 1:
        return f"{short(arms[0])} is the only arm with final evaluations; `audit decide` compares two"
    # The baseline is the arm that looks like one by its name, else the first.
    likest = nearest_name("baseline", arms)
    first = likest if likest is not None and nearest_name("treatment", arms) != likest else arms[0]
    second = next(arm for arm in arms if arm != first)
    if set(first + second) & set(",="):
        return "`audit decide` compares roles baseline and treatment; give them as in --arm baseline=NAME"
    weights = shlex.quote(f"{second}=1,{first}=-1")
    return (
        "`audit decide` compares roles baseline and treatment; to compare these arms, "
        f"`audit decide {shlex.quote(run)} --weights {weights}`"
    )


def _description(imported: Imported) -> Iterator[str]:
    yield f"by {imported.importer}: {_summary(imported)}"
    for file in imported.files:
        yield f"file {file.name} ({file.bytes:,} bytes, sha256 {file.sha256[:12]}…)"
    for arm in imported.arms:
        record = arm.record
        tables = [f"evals {checkpoint}: {counted(len(rows), 'row')}" for checkpoint, rows in arm.evals.items()]
        tables += [f"{' and '.join(_tables(arm))} of {counted(len(arm.steps), 'step')}"] if arm.steps else []
        tables += [f"scalars: {counted(len(arm.scalars), 'row')}"] if arm.scalars else []
        held = ", ".join(tables) or "no table"
        yield f"arm {record.arm}, seed {record.seed}, role {record.role} ({record.name}): {held}"
        yield from (f"  {path} = {value!r}" for path, value in record.settings.items())
    yield from (f"planned {path} = {value!r}" for path, value in imported.planned.items())
    yield from (f"executed {path} = {value!r}" for path, value in imported.executed.items())
    yield from (f"maps {line}" for line in imported.mapped)
    yield from _told(imported, "RUN")


def _tables(arm: ImportedArm) -> list[str]:
    return sorted({table for tables in arm.steps.values() for table in tables})
