"""Fingerprints of what each arm wrote: equal ones mean that two arms wrote the same, byte for byte.

`kind` is outputs (completions of the base or final checkpoint) or training log (token rows after the first batch);
`n_tokens` counts outputs beyond the bare gold answer; `has_signal` says whether the arm's log has an update with a
learning rate and an advantage other than 0, null where none is logged.
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    sql = (SQL_FOLDER / "derived" / "output_fingerprints.sql").read_text(encoding="utf-8")
    return connection.sql(sql).to_arrow_table()


DERIVED = Derived(requires=("evals.completion",), derive=derive)
