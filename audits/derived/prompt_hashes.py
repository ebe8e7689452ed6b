"""The table of prompts with the hash of each prompt's token ids as they stand there: one row a logged prompt.

`computed_sha256` is null where no token ids were logged (an empty list): there is nothing to compare with.
"""

from typing import TYPE_CHECKING, Any

from analysis.prompt_hash import token_ids_sha256
from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_PROMPTS = "SELECT prompt_id, split, gold, prompt_sha256, token_ids FROM prompts"


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    hashed = []
    for batch in connection.sql(_PROMPTS).to_arrow_reader(1 << 12):
        token_ids = batch.column("token_ids").to_pylist()
        hashes = pa.array([token_ids_sha256(ids) if ids else None for ids in token_ids], pa.string())
        hashed.append(batch.drop_columns(["token_ids"]).append_column("computed_sha256", hashes))
    return pa.Table.from_batches(hashed)


DERIVED = Derived(requires=("prompts",), derive=derive)
