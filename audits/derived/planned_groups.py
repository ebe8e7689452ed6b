"""What was planned about groups of rollouts: one row a run, with or without a plan."""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return one row: whether a plan is sealed, and the planned rollouts a group, null where nothing says.

    The source of an imported run may say the group size without a plan of ours (`planned` in its `run.json`).
    """
    import pyarrow as pa

    stated = run.manifest.planned.get("rollout.group_size")
    size = run.sealed.plan.rollout.group_size if run.sealed else stated if type(stated) is int else None
    return pa.table(
        {
            "is_planned": pa.array([run.sealed is not None], pa.bool_()),
            "group_size": pa.array([size], pa.int64()),
        }
    )


DERIVED = Derived(requires=(), derive=derive)
