"""Two seeds of a run that trackio itself logged."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "trackio" / "sums.db"
IS_JSON = False
ARMS = [("treatment", "grpo")]
ROWS = {"scalars": 18}
UNKNOWN = "colour"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "sums.db"))


def with_unknown_keys(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        found = connection.execute("SELECT id, metrics FROM metrics").fetchall()
        for number, held in found:
            held = held if isinstance(held, bytes) else held.encode()
            changed = held[:-1] + b', "colour": "red"}'
            connection.execute("UPDATE metrics SET metrics = ? WHERE id = ?", (changed, number))
        connection.execute("PRAGMA journal_mode = DELETE")
