"""The arms of the run: one row an arm and seed, with its role and what the registered claim generalises over.

`unit` is the decision rule's, the same in each row, null without a plan.
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    arms, unit = run.manifest.arms, run.sealed.plan.decision_rule.unit if run.sealed else None
    return pa.table(
        {
            "arm": pa.array([arm.arm for arm in arms], pa.string()),
            "seed": pa.array([arm.seed for arm in arms], pa.int64()),
            "role": pa.array([arm.role for arm in arms], pa.string()),
            "unit": pa.array([unit] * len(arms), pa.string()),
        }
    )


DERIVED = Derived(requires=(), derive=derive)
