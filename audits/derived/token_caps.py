"""The largest number of completion tokens that sampling allowed: one row a source (evals, rollouts), arm and seed.

`cap` is as the run states it (see `audits.engine.stated`), null where nothing does. `cut_is_wrong` says that the grader
takes no completion that was cut off for right, null where the grader is not one of ours: it is found by asking the
grader for a right answer with stop reason `length`.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.engine.stated import stated_setting
from audits.store.manifest import ArmRecord
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_SETTINGS = {"evals": "evaluation.max_tokens", "rollouts": "rollout.max_tokens"}
_RIGHT = ("7", "\\boxed{7}", "#### 7")


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    arms = {(arm.arm, arm.seed): arm for arm in run.manifest.arms}
    rows = []
    for source, path in _SETTINGS.items():
        for name, seed in sorted(run.partitions(source)):
            arm = arms.get((name, seed))
            rows.append((source, name, seed, _cap(run, path, arm), _cut_is_wrong(run, arm)))
    names = ("source", "arm", "seed", "cap", "cut_is_wrong")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.bool_())
    columns = ([row[place] for row in rows] for place in range(len(names)))
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=names)


def _cap(run: Run, path: str, arm: ArmRecord | None) -> int | None:
    """Return the cap, None where it is not stated as a whole number that can be one."""
    cap = stated_setting(run, path, arm)
    return cap if isinstance(cap, int) and not isinstance(cap, bool) and 0 < cap < 2**31 else None


def _cut_is_wrong(run: Run, arm: ArmRecord | None) -> bool | None:
    grader = stated_setting(run, "evaluation.grader", arm)
    name = f"analysis.graders.{grader}"
    if not isinstance(grader, str) or not grader.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    grade = getattr(importlib.import_module(name), "grade", None)
    if grade is None:
        return None
    whole = [grade(text, "stop", "7").correct for text in _RIGHT]
    cut = [grade(text, "length", "7").correct for text in _RIGHT]
    return not any(cut) if any(whole) else None


DERIVED = Derived(requires=("evals or rollouts",), derive=derive)
