"""Which prompts evaluations and rollouts name, and with which gold: one row a distinct reference with its row count.

`source` is evals or rollouts; `checkpoint` is null for rollouts; `kind` is the run's (pilot, full, imported).
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    sql = (SQL_FOLDER / "derived" / "prompt_references.sql").read_text(encoding="utf-8")
    table = connection.sql(sql).to_arrow_table()
    return table.append_column("kind", pa.array([run.manifest.kind] * table.num_rows, pa.string()))


DERIVED = Derived(requires=("evals.prompt_id or rollouts.prompt_id",), derive=derive)
