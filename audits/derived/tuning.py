"""How the learning rate was tuned: one row a condition and rate, of the plan's grid or in use.

Grids stand in the sealed plan (`sweep.learning_rates`), the rate in use in the log of updates. Scores are those of a
`sweep.json` of `audit sweep` that stands in the run directory, as that file states them: the sweep's own runs are
elsewhere and can be audited there. Without the file the scores are null and `results` says so.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.errors import AuditError
from audits.engine.derived import Derived
from audits.store.durable import read_whole
from audits.store.location import is_local
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

SWEEP_NAME = "sweep.json"
HELD, ABSENT, FOREIGN = "held", "absent", "of another plan"
# The gate's statuses with which the rule of analysis.learning_rate lets a rate be chosen.
_ELIGIBLE = ("pass", "warn", "waived", "not_applicable")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Arm(_Part):
    condition: str
    seed: int
    items: int
    score: float | None


class _Rate(_Part):
    learning_rate: float
    gate: str
    arms: tuple[_Arm, ...]


class _Chosen(_Part):
    learning_rate: float | None


class _Sweep(_Part):
    plan_sha256: str
    split: str
    rates: tuple[_Rate, ...]
    chosen: _Chosen


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table, sorted by condition and rate; empty without a sealed plan.

    Returns:
        An Arrow table: condition, role, learning_rate, in_grid, used, seeds (scored), items (scored, over seeds), score
        (mean over seeds, null where one is missing), eligible (its pilot passed the gate), chosen (of the sweep's
        rule, null: none), split, results (`held`, `absent` or `of another plan`).

    Raises:
        AuditError: `sweep.json` stands there and is not one.
    """
    import pyarrow as pa

    used = connection.execute("SELECT DISTINCT arm, learning_rate FROM updates").fetchall()
    rows = sorted(_rows(run, used), key=lambda row: (row["condition"], row["learning_rate"]))
    schema = pa.schema(
        [("condition", pa.string()), ("role", pa.string()), ("learning_rate", pa.float64()), ("in_grid", pa.bool_()),
         ("used", pa.bool_()), ("seeds", pa.int64()), ("items", pa.int64()), ("score", pa.float64()),
         ("eligible", pa.bool_()), ("chosen", pa.float64()), ("split", pa.string()), ("results", pa.string())]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema)


DERIVED = Derived(requires=("updates",), derive=derive)


def _rows(run: Run, used: Sequence[tuple[str, float]]) -> list[dict[str, object]]:
    if run.sealed is None:
        return []
    plan = run.sealed.plan
    grids = plan.sweep.learning_rates if plan.sweep else {}
    results, sweep = _results(run)
    roles = {arm.condition: arm.role for arm in plan.arms}
    keys = {(condition, rate) for condition, grid in grids.items() for rate in grid} | set(used)
    shared = {
        "chosen": sweep.chosen.learning_rate if sweep else None,
        "split": sweep.split if sweep else None,
        "results": results,
    }
    return [
        {
            "condition": condition,
            "role": roles.get(condition),
            "learning_rate": rate,
            "in_grid": rate in grids.get(condition, ()),
            "used": (condition, rate) in used,
            **_scored(sweep, condition, rate),
            **shared,
        }
        for condition, rate in keys
    ]


def _scored(sweep: _Sweep | None, condition: str, rate: float) -> Mapping[str, object]:
    trial = next((trial for trial in sweep.rates if trial.learning_rate == rate), None) if sweep else None
    arms = [arm for arm in trial.arms if arm.condition == condition] if trial else []
    scores = [arm.score for arm in arms if arm.score is not None]
    return {
        "seeds": len(scores),
        "items": sum(arm.items for arm in arms if arm.score is not None),
        "score": sum(scores) / len(scores) if scores and len(scores) == len(arms) else None,
        "eligible": trial is not None and trial.gate in _ELIGIBLE,
    }


def _results(run: Run) -> tuple[str, _Sweep | None]:
    """Return whether the run holds its sweep's table, and the table where it does."""
    path = run.path / SWEEP_NAME
    if run.sealed is None or not is_local(run.path):
        return ABSENT, None
    try:
        sweep = _Sweep.model_validate_json(read_whole(path))
    except FileNotFoundError:
        return ABSENT, None
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        said = str(error).splitlines()[0]
        raise AuditError(f"{path}: is not the table of a sweep ({said:.200}). Copy it again, or remove it") from error
    mine = (run.sealed.sha256, run.sealed.plan.supersedes)
    return (HELD, sweep) if sweep.plan_sha256 in mine else (FOREIGN, None)
