"""Which arm is the baseline and which the treatment: arms of one source by name, or one source an arm."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from analysis.errors import AuditError
from analysis.nearest import nearest_name
from audits.store.gathered import Rows, Scratch
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few, is_folder_name, short
from runner.importers.engine.imported import Imported, ImportedArm, SourceFile


def check_role(role: str) -> None:
    """Check that a role can name an arm's folder.

    Raises:
        AuditError: it is empty, too long, or holds what cannot be printed.
    """
    if not is_folder_name(role):
        raise AuditError(f"--arm {short(role)!r}: a role is a short name, as in baseline")


def with_roles(imported: Imported, arms: Mapping[str, str]) -> Imported:
    """Return the source with roles given to its arms; the arms that no role names stay `other`.

    Args:
        imported: the source.
        arms: by role, the source's own name of an arm.

    Raises:
        AuditError: the source has no such arm, or two roles name one.
    """
    names = list(dict.fromkeys(arm.record.name for arm in imported.arms))
    for role, name in arms.items():
        if name not in names:
            near = nearest_name(name, names)
            meant = f'; did you mean "{short(near)}"?' if near else ""
            raise AuditError(f'--arm {role}: the source has no arm "{short(name)}"{meant} (arms: {few(names)})')
        if list(arms.values()).count(name) > 1:
            raise AuditError(f'--arm {role}: arm "{short(name)}" is named twice; each arm has one role')
    roles = {name: role for role, name in arms.items()}
    return replace(
        imported,
        arms=tuple(_renamed(arm, roles[arm.record.name]) if arm.record.name in roles else arm for arm in imported.arms),
    )


def together(sources: Sequence[tuple[str, Path, Imported]], scratch: Scratch) -> Imported:
    """Return several sources as one, each an arm (or a further seed of an arm) of the role that was given to it.

    Args:
        sources: role, path and what was read of each.
        scratch: gathers the prompts of all.

    Raises:
        AuditError: a source holds several arms, one seed of an arm comes twice, or the sources disagree on a prompt or
            on what was planned.
    """
    for role, path, imported in sources:
        names = list(dict.fromkeys(arm.record.arm for arm in imported.arms))
        if len(names) != 1:
            raise AuditError(
                f"--arm {role}: {path} holds {len(names)} arms ({few(names)}). Import it alone, as "
                f"`audit import {path} --arm {role}={names[0]}`"
            )
    arms = [_renamed(arm, role) for role, _, imported in sources for arm in imported.arms]
    keys = [(arm.record.arm, arm.record.seed) for arm in arms]
    for role, seed in keys:
        if keys.count((role, seed)) > 1:
            raise AuditError(f"--arm {role}: two sources hold seed {seed} of it; an arm has each seed once")
    read = [imported for _, _, imported in sources]
    planned, executed, settings = _settings([imported.planned for imported in read], [i.executed for i in read])
    of_arm = [own for own, imported in zip(settings, read, strict=True) for _ in imported.arms]
    return Imported(
        importer="+".join(sorted({imported.importer for imported in read})),
        files=tuple(_named_apart(sources)),
        arms=tuple(_with_settings(arm, own) for arm, own in zip(arms, of_arm, strict=True)),
        prompts=_prompts([(path, imported.prompts) for _, path, imported in sources if imported.prompts], scratch),
        planned=planned,
        executed=executed,
        details={
            f"{role}/seed={imported.arms[0].record.seed} {key}": value
            for role, _, imported in sources
            for key, value in imported.details.items()
        },
        mapped=_once(read, "mapped"),
        ignored=_once(read, "ignored"),
        notes=_once(read, "notes"),
    )


def _renamed(arm: ImportedArm, role: str) -> ImportedArm:
    return replace(arm, record=arm.record.model_copy(update={"arm": role, "role": _role(role)}))


def _role(name: str) -> Literal["baseline", "treatment", "other"]:
    return name if name in ("baseline", "treatment") else "other"  # type: ignore[return-value]


def _settings(
    planned: Sequence[Mapping[str, Any]], executed: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Return what all sources plan, what all executed, and for each source what it alone executed.

    A plan of the run has one value; where the sources have different ones, each must at least have done its own.
    """
    of_run: dict[str, Any] = {}
    of_all: dict[str, Any] = {}
    of_each: list[dict[str, Any]] = [{} for _ in executed]
    for path in dict.fromkeys(path for settings in executed for path in settings):
        if all(settings.get(path) == executed[0].get(path) for settings in executed):
            of_all[path] = executed[0][path]
            continue
        for own, settings in zip(of_each, executed, strict=True):
            own |= {path: settings[path]} if path in settings else {}
    for path in dict.fromkeys(path for settings in planned for path in settings):
        if all(settings.get(path) == planned[0].get(path) for settings in planned):
            of_run[path] = planned[0][path]
            continue
        for own, wanted, done in zip(of_each, planned, executed, strict=True):
            if path in wanted and path in done and wanted[path] != done[path]:
                raise AuditError(
                    f"the sources plan different values of {path}, and one of them did {done[path]} where "
                    f"{wanted[path]} was planned. Import each alone, so that this is seen"
                )
            own |= {path: wanted[path]} if path in wanted and path not in done else {}
    return of_run, of_all, of_each


def _with_settings(arm: ImportedArm, own: Mapping[str, Any]) -> ImportedArm:
    record: ArmRecord = arm.record.model_copy(update={"settings": {**own, **arm.record.settings}})
    return replace(arm, record=record)


def _named_apart(sources: Sequence[tuple[str, Path, Imported]]) -> Iterator[SourceFile]:
    """Yield the files, with the name of what was named on the command line before each that is not unique."""
    names = [file.name for _, _, imported in sources for file in imported.files]
    for _, path, imported in sources:
        above = path.name if path.is_dir() else path.parent.name
        for file in imported.files:
            yield replace(file, name=f"{above}/{file.name}") if names.count(file.name) > 1 else file


def _prompts(tables: Sequence[tuple[Path, Rows]], scratch: Scratch) -> Rows | None:
    """Return the prompts of all sources, each once."""
    if not tables:
        return None
    prompts = scratch.prompts()
    for path, rows in tables:
        for row in rows.records():
            prompts.add(row, str(path))
    return prompts.rows


def _once(read: Sequence[Imported], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for imported in read for line in getattr(imported, name)))
