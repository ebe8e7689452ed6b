"""What each rollout step gave the policy to learn from: groups with more than one reward, updates with an advantage."""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return one row a rollout step, from the rollouts or else from the figures that another tool logged."""
    return connection.sql((SQL_FOLDER / "derived" / "step_signal.sql").read_text(encoding="utf-8")).to_arrow_table()


DERIVED = Derived(requires=("rollouts or scalars",), derive=derive)
