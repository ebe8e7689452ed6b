"""Settings: what was planned beside what was executed, one row a setting and, where it is of one, an arm and seed.

What was planned is the sealed plan, or for an imported run what its source says (`planned` in run.json). What was
executed comes from the logs where they show it (`sql/derived/settings.sql`), else from what run.json states of an arm,
else from its `executed`. A setting that stands nowhere has no executed value: run.json's copy of the plan is a
statement, and silence is not even that.

Values are text that compares as it should: numbers by value (2e-5 is 0.00002), lists and blocks as canonical JSON.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from audits.derived.credits import planned_credits
from audits.engine.derived import Derived
from audits.engine.gate import planned_steps
from audits.engine.stated import flatten
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb

COLUMNS = ("setting", "arm", "seed", "planned", "executed", "relation", "source")

_BLOCKS = ("base_model", "lora_rank", "optimizer", "rollout", "evaluation", "task", "dataset")
_LISTS = ("arms", "checkpoints", "options", "steps", "sweep")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SHOWN = 4

Cell = tuple[str | None, int | None]
NO_ARM: Cell = (None, None)


class Planned(NamedTuple):
    """What was planned; `written` is False for a default that the plan's author left to the format."""

    value: object
    written: bool = True


class Executed(NamedTuple):
    """What was executed and where that stands; `planned` where a log says what it should have been."""

    values: tuple[object, ...]
    source: str
    relation: str = "equal"
    planned: str | None = None


Executions = dict[str, dict[Cell, Executed]]


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table of settings, sorted by setting, arm and seed.

    Args:
        run: the run.
        connection: over it.

    Returns:
        An Arrow table: setting (the plan's path), arm, seed, planned, executed (texts; null: not planned, not known),
        relation (`equal`, or `at most` where the log gives a bound), source.
    """
    import pyarrow as pa

    types = [pa.string(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.string(), pa.string()]
    rows = sorted(_rows(run, connection), key=lambda row: [(value is not None, str(value)) for value in row])
    return pa.table(
        {name: pa.array([row[place] for row in rows], kind)
         for place, (name, kind) in enumerate(zip(COLUMNS, types, strict=True))}
    )  # fmt: skip


DERIVED = Derived(requires=(), derive=derive)


def canonical(value: object) -> str:
    """Return a value as text that is equal where the values are: numbers by value, lists and blocks as JSON."""
    text = _number(value) or (value if isinstance(value, str) else json.dumps(_normal(value), ensure_ascii=False))
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _rows(run: Run, connection: "duckdb.DuckDBPyConnection") -> Iterator[tuple[object, ...]]:
    planned = _planned(run)
    seen, bounds = _seen(run, connection)
    if planned.get(("task.train_items", NO_ARM), Planned(0)).value is None:
        seen.pop("task.train_items", None)  # null plans all there are, however many that is
    executed = _with_statements(run, seen)
    met = set()
    for setting, cells in [*executed.items(), *bounds.items()]:
        for cell, found in cells.items():
            key = (setting, cell) if (setting, cell) in planned else (setting, NO_ARM)
            met.add(key)
            text = canonical(planned[key].value) if key in planned else found.planned
            yield setting, *cell, text, _joined(found.values), found.relation, found.source
    for (setting, cell), wanted in planned.items():
        if wanted.written and (setting, cell) not in met:
            yield setting, *cell, canonical(wanted.value), None, "equal", "nothing states it"


def _planned(run: Run) -> dict[tuple[str, Cell], Planned]:
    if run.sealed is None:
        return {(path, NO_ARM): Planned(value) for path, value in flatten(run.manifest.planned).items()}
    plan, kind = run.sealed.plan, run.manifest.kind
    written = set(flatten(json.loads(run.sealed.canonical)))
    leaves = flatten({name: value for name, value in plan.model_dump().items() if name in _BLOCKS})
    used = {name: loss.model_dump() for name, loss in plan.losses.items() if name in {arm.loss for arm in plan.arms}}
    leaves |= flatten({"losses": used})
    del leaves["rollout.rollout_batches"]
    settings = {(path, NO_ARM): Planned(value, path in written) for path, value in leaves.items()}
    settings |= {(f"losses.{name}", NO_ARM): Planned(loss, written=False) for name, loss in used.items()}
    settings[_steps_setting(run), NO_ARM] = Planned(planned_steps(kind, plan))
    settings["evaluation.split", NO_ARM] = Planned("validation" if kind == "pilot" else "test")
    settings["arms", NO_ARM] = Planned(sorted([arm.condition, arm.seed] for arm in plan.arms))
    for arm in plan.arms:
        cell = (arm.condition, arm.seed)
        settings["arms.loss", cell] = Planned(arm.loss)
        settings["arms.role", cell] = Planned(arm.role)
    return settings


def _seen(run: Run, connection: "duckdb.DuckDBPyConnection") -> tuple[Executions, Executions]:
    """Return what the logs show, and what they only bound."""
    found: dict[tuple[str, str, Cell], list[tuple[Any, ...]]] = defaultdict(list)
    sql = (SQL_FOLDER / "derived" / "settings.sql").read_text(encoding="utf-8")
    names = {
        "rollout.rollout_batches": _steps_setting(run),
        "evaluation.items": "task.validation_items" if run.manifest.kind == "pilot" else "task.test_items",
    }
    credits = planned_credits(run)
    for setting, arm, seed, *rest in connection.execute(sql).fetchall():
        value, planned, relation, source = rest
        if setting == "loss tokens" and credits.get(arm) == "preference":
            relation = "at most"  # completions that are in no pair are sampled and not trained on
        for path, part in _parts(names.get(setting, setting), value):
            found[relation, path, (arm, seed)].append((part, planned, source))
    seen: Executions = defaultdict(dict)
    bounds: Executions = defaultdict(dict)
    for (relation, setting, cell), rows in found.items():
        _, planned, source = rows[0]
        target = seen if relation == "equal" else bounds
        target[setting][cell] = Executed(tuple(row[0] for row in rows), source, relation, planned)
    ran = seen.pop("arms", {})
    if ran:
        listed = sorted([list(cell) for cell in ran])
        seen["arms"] = {NO_ARM: Executed((listed,), "updates and evals")}
    if run.has("updates"):
        for record in run.manifest.arms:
            never = Executed((0,), "updates")
            seen[_steps_setting(run)].setdefault((record.arm, record.seed), never)
    return seen, bounds


def _parts(setting: str, value: str) -> Iterator[tuple[str, object]]:
    """Split a loss as it was executed (JSON) into its settings; one that is no block of settings stays whole."""
    if not setting.startswith("losses."):
        yield setting, value
        return
    try:
        config = json.loads(value)
    except (ValueError, RecursionError):
        config = None
    if isinstance(config, dict) and config:
        yield from flatten(config, f"{setting}.").items()
    else:
        yield setting, value


def _with_statements(run: Run, seen: Executions) -> Executions:
    """Add what run.json states of the arms, and of the run where no arm has it, to what the logs show."""
    executed: Executions = defaultdict(dict, {setting: dict(cells) for setting, cells in seen.items()})
    for cell, path, value in _stated_of_arms(run):
        executed[path].setdefault(cell, Executed((value,), "run.json arms"))
    arms = {(record.arm, record.seed) for record in run.manifest.arms}
    stated = {name: value for name, value in run.manifest.executed.items() if name not in _LISTS}
    for path, value in flatten(stated).items():
        if not _covers(executed.get(path, {}), arms):
            executed[path].setdefault(NO_ARM, Executed((value,), "run.json executed"))
    return executed


def _covers(cells: Mapping[Cell, Executed], arms: set[tuple[str, int]]) -> bool:
    return bool(cells) and (NO_ARM in cells or arms <= set(cells))


def _stated_of_arms(run: Run) -> Iterator[tuple[Cell, str, object]]:
    for record in run.manifest.arms:
        cell = (record.arm, record.seed)
        yield cell, "arms.role", record.role
        if record.loss is not None:
            yield cell, "arms.loss", record.loss
        for path, value in flatten(record.settings).items():
            yield cell, path, value
    reported = run.manifest.executed.get("arms")
    for entry in reported if isinstance(reported, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("seed"), int):
            continue
        cell = (str(entry.get("arm")), entry["seed"])
        for key, path in (("base_model", "base_model"), ("lora_rank", "lora_rank"), ("optimizer", "optimizer.name")):
            if key in entry:
                yield cell, path, entry[key]


def _steps_setting(run: Run) -> str:
    return "activation_gate.pilot_steps" if run.manifest.kind == "pilot" else "rollout.rollout_batches"


def _joined(values: Sequence[object]) -> str:
    texts = sorted({canonical(value) for value in values}, key=_order)
    if len(texts) <= _SHOWN:
        return " or ".join(texts)
    return f"{texts[0]} to {texts[-1]} ({len(texts):,} values)"


def _order(text: str) -> tuple[bool, float, str]:
    return (False, float(text), "") if _NUMBER.fullmatch(text) else (True, 0.0, text)


def _number(value: object) -> str | None:
    """Return a number, or the text of one, as its shortest text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 1024 else hex(value)
    if isinstance(value, str) and not (len(value) < 64 and _NUMBER.fullmatch(value)):
        return None
    if isinstance(value, str) and value.isdecimal():
        return str(int(value))
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _normal(value: object) -> object:
    """Return a JSON value whose numbers are written in one way and whose keys are sorted."""
    if isinstance(value, dict):
        return {str(key): _normal(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
