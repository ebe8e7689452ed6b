"""How many updates a log has of each rollout batch."""

from collections.abc import Sequence

from audits.engine.request import scope
from audits.store.reader import Run, connect
from audits.store.schema import tables


def updates_a_batch(run: Run, table: str, arm: str, seeds: Sequence[int] | None) -> int | None:
    """Return the most updates that a batch of an arm had; None without a row, or where the table knows no updates.

    Args:
        run: the run.
        table: of the run format.
        arm: its folder's name.
        seeds: training seeds, None for all that were logged.

    Raises:
        AuditError: a file of the run is damaged.
    """
    if not any(column.name == "update" for column in tables()[table].columns):
        return None
    with connect(run) as connection:
        query = f'SELECT max("update") FROM {table} WHERE {scope(arm, None, seeds)}'
        last = connection.execute(query).fetchall()[0][0]
    return None if last is None else int(last) + 1
