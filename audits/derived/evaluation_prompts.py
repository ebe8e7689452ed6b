"""The evaluated items of every checkpoint with their prompts: one row an arm, seed, checkpoint and item.

Split and hash are null where the prompt was not logged.
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    sql = (SQL_FOLDER / "derived" / "evaluation_prompts.sql").read_text(encoding="utf-8")
    return connection.sql(sql).to_arrow_table()


DERIVED = Derived(requires=("evals",), derive=derive)
