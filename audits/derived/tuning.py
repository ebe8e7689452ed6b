"""How the learning rate was tuned: one row a condition and rate, of the plan's grid or in use.

Grids stand in the sealed plan (`sweep.learning_rates`), the rate in use in the log of updates. Scores are those of the
`sweep.json` that `audit run` copied into the run directory, as that file states them: the sweep's own runs are
elsewhere and can be audited there. Without the file the scores are null and `results` says so.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.errors import AuditError
from analysis.learning_rate import ELIGIBLE_GATES
from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.sweeps import SWEEP_NAME, SweepTable, sweep_sha256, sweep_table, sweep_text

if TYPE_CHECKING:
    import duckdb

HELD, ABSENT, FOREIGN = "held", "absent", "of another plan"


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table, sorted by condition and rate; empty without a sealed plan.

    Returns:
        An Arrow table: condition, role, learning_rate, in_grid, used, seeds (scored), items (scored, over seeds), score
        (mean over seeds, null where one is missing), eligible (its pilot passed the gate), chosen (of the sweep's
        rule, null: none), split, results (`held`, `absent` or `of another plan`).

    Raises:
        AuditError: `sweep.json` is no table of a sweep, or not the one that run.json recorded.
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


def _scored(sweep: SweepTable | None, condition: str, rate: float) -> Mapping[str, object]:
    trial = next((trial for trial in sweep.rates if trial.learning_rate == rate), None) if sweep else None
    arms = [arm for arm in trial.arms if arm.condition == condition] if trial else []
    scores = [arm.score for arm in arms if arm.score is not None]
    return {
        "seeds": len(scores),
        "items": sum(arm.items for arm in arms if arm.score is not None),
        "score": sum(scores) / len(scores) if scores and len(scores) == len(arms) else None,
        "eligible": trial is not None and trial.gate in ELIGIBLE_GATES,
    }


def _results(run: Run) -> tuple[str, SweepTable | None]:
    """Return whether the run holds its sweep's table, and the table where it does."""
    text, recorded = sweep_text(run.path), run.manifest.sweep
    if recorded is not None and (text is None or sweep_sha256(text) != recorded.sha256):
        fault = "is missing" if text is None else "changed"
        raise AuditError(f"{run.path / SWEEP_NAME}: {fault} since run.json recorded it. Copy it from {recorded.path}")
    if text is None or run.sealed is None:
        return ABSENT, None
    sweep = sweep_table(run.path, text)
    return (HELD, sweep) if sweep.is_of(run.sealed) else (FOREIGN, None)
