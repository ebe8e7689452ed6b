"""The sampler at each rollout step: the version of its weights, and its difference from the trainer's first pass."""

from typing import TYPE_CHECKING, Any

from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return one row a rollout step, from the rollouts and the tokens of first updates, whichever was logged."""
    return connection.sql((SQL_FOLDER / "derived" / "sampler_steps.sql").read_text(encoding="utf-8")).to_arrow_table()


DERIVED = Derived(requires=("rollouts.sampler_version or tokens",), derive=derive)
