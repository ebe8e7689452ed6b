"""What differs between two runs: the plans, what was executed, and the outcomes of the same items in the same arm."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from audits.derived.settings import canonical, derive
from audits.engine.stated import flatten
from audits.store.reader import Run, connect

_SCORES = "SELECT arm, item_id, score FROM final_item_means ORDER BY arm, item_id"


@dataclass(frozen=True)
class Difference:
    """A setting that two runs have otherwise; None where a run does not name it.

    Attributes:
        setting: the plan's path, `rollout.group_size`.
        arm: the arm and seed it is of, empty where it is of the whole run.
    """

    setting: str
    arm: str
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Differences:
    """Settings that differ, and how many were compared."""

    compared: int
    found: tuple[Difference, ...]


@dataclass(frozen=True)
class ItemChange:
    """An item whose score is another in the second run."""

    item_id: str
    first: float
    second: float


@dataclass(frozen=True)
class ArmChanges:
    """An arm's final scores in both runs, item by item; a score is the mean over the item's seeds and samples.

    Attributes:
        arm: its folder name, the same in both runs.
        same: items with the same score in both.
        changed: the others, sorted by id.
        without_score: items of both runs of which a sample has no score in one of them.
        only_first: items that only the first run has.
        only_second: items that only the second run has.
    """

    arm: str
    same: int
    changed: tuple[ItemChange, ...]
    without_score: int
    only_first: int
    only_second: int

    @property
    def higher(self) -> int:
        """Items that score higher in the second run."""
        return sum(item.second > item.first for item in self.changed)

    @property
    def lower(self) -> int:
        """Items that score lower in the second run."""
        return len(self.changed) - self.higher


def planned_differences(first: Run, second: Run) -> Differences:
    """Return what the sealed plans, or what the sources of imported runs say was planned, have otherwise."""
    return _differences(_planned(first), _planned(second))


def executed_differences(first: Run, second: Run) -> Differences:
    """Return the settings that were executed otherwise, as logs show them or else `run.json` states them.

    Raises:
        AuditError: a file of a run is damaged.
    """
    return _differences(_executed(first), _executed(second))


def item_changes(first: Run, second: Run) -> tuple[ArmChanges, ...]:
    """Return what became of each item in the arms that both runs evaluated, sorted by arm.

    Raises:
        AuditError: a file of a run is damaged.
    """
    before, after = _final_scores(first), _final_scores(second)
    return tuple(_changes(arm, before[arm], after[arm]) for arm in sorted(before.keys() & after.keys()))


def _planned(run: Run) -> dict[tuple[str, str], str]:
    plan = run.manifest.planned if run.sealed is None else json.loads(run.sealed.canonical)
    return {(path, ""): canonical(value) for path, value in flatten(plan).items()}


def _executed(run: Run) -> dict[tuple[str, str], str]:
    with connect(run) as connection:
        rows = derive(run, connection).to_pylist()
    return {(row["setting"], _cell(row["arm"], row["seed"])): row["executed"] for row in rows if row["executed"]}


def _cell(arm: str | None, seed: int | None) -> str:
    return "" if arm is None else arm if seed is None else f"{arm}, seed {seed}"


def _differences(first: Mapping[tuple[str, str], str], second: Mapping[tuple[str, str], str]) -> Differences:
    keys = sorted(first.keys() | second.keys())
    found = (Difference(*key, first.get(key), second.get(key)) for key in keys)
    return Differences(len(keys), tuple(item for item in found if item.first != item.second))


def _final_scores(run: Run) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    if run.has("evals"):
        with connect(run) as connection:
            for arm, item_id, score in connection.execute(_SCORES).fetchall():
                found.setdefault(arm, {})[item_id] = score
    return found


def _changes(arm: str, before: Mapping[str, float | None], after: Mapping[str, float | None]) -> ArmChanges:
    both = sorted(before.keys() & after.keys())
    scored = [(item, a, b) for item in both if (a := before[item]) is not None and (b := after[item]) is not None]
    changed = tuple(ItemChange(*row) for row in scored if row[1] != row[2])
    return ArmChanges(
        arm=arm,
        same=len(scored) - len(changed),
        changed=changed,
        without_score=len(both) - len(scored),
        only_first=len(before) - len(both),
        only_second=len(after) - len(both),
    )
