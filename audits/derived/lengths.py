"""How long each completion is and how it ended: one row an evaluated sample or a rollout, without its text.

`source` is evals or rollouts; `id` is the item's or the rollout's. `score` is the evaluation's, 0 to 1 (its verdict
where only that was logged), or the rollout's reward. `failed`: the sample has an error and no completion.
`says_cut`: its stop reason says that the token cap ended it, null where it has none.
"""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    return connection.sql((SQL_FOLDER / "derived" / "lengths.sql").read_text(encoding="utf-8")).to_arrow_table()


DERIVED = Derived(
    requires=("evals.n_tokens or evals.stop_reason or rollouts.n_tokens or rollouts.stop_reason",), derive=derive
)
