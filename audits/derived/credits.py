"""Where each arm's plan says that its advantages come from: one row an arm; no row without a plan.

`credit` is `group` (reward minus the group's mean), `critic`, or `preference` (trained on pairs, on no advantage).
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    credits = planned_credits(run)
    return pa.table({"arm": pa.array(credits, pa.string()), "credit": pa.array(credits.values(), pa.string())})


def planned_credits(run: Run) -> dict[str, str]:
    """Return the credit of each arm of the plan, empty without one."""
    if run.sealed is None:
        return {}
    plan = run.sealed.plan
    return {
        arm.condition: "preference"
        if plan.losses[arm.loss].kind == "preference"
        else "group"
        if arm.advantage is None
        else "critic"
        for arm in plan.arms
    }


DERIVED = Derived(requires=(), derive=derive)
