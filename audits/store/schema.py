"""The run format's tables, read from `sql/schema.sql`, which is their only definition."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import audits

FORMAT_VERSION = 1
SQL_FOLDER = Path(audits.__file__).parent.parent / "sql"

_TABLE = re.compile(r"^CREATE TABLE (\w+) \(\n(.*?)^\);", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r'^\s+"?(\w+)"? ([A-Z]+(?:\[\])?)( NOT NULL)?,? -- (.+)$')
_WRITTEN_BY = re.compile(r"^-- (?:.*\. )?Written by (.+?);", re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """One column of a table: name, SQL type, whether each file must have it, and its documentation."""

    name: str
    sql_type: str
    required: bool
    documentation: str

    @property
    def arrow_type(self) -> Any:
        """The Arrow type that the SQL type is stored as."""
        return _arrow_types()[self.sql_type]


@dataclass(frozen=True)
class Table:
    """One table of the run format.

    Attributes:
        name: the folder its files stand in.
        columns: in the order in which they are written.
        written_by: the commands that provide it.
        partitioned: whether its files stand under arm=/seed=.
    """

    name: str
    columns: tuple[Column, ...]
    written_by: str
    partitioned: bool

    def arrow_schema(self, present: set[str] | None = None) -> Any:
        """Return the Arrow schema of the required columns and of those in `present`."""
        import pyarrow as pa

        return pa.schema(
            [
                pa.field(column.name, column.arrow_type, nullable=not column.required)
                for column in self.columns
                if present is None or column.required or column.name in present
            ]
        )


@cache
def tables() -> dict[str, Table]:
    """Return all tables of the format by name."""
    text = (SQL_FOLDER / "schema.sql").read_text(encoding="utf-8")
    found: dict[str, Table] = {}
    end_of_last = 0
    for match in _TABLE.finditer(text):
        name, body = match.groups()
        columns = []
        for line in body.splitlines():
            column = _COLUMN.match(line)
            if column is None:
                raise ValueError(f"sql/schema.sql: cannot read this line of table {name}: {line!r}")
            columns.append(Column(column[1], column[2], column[3] is not None, column[4]))
        written_by = _WRITTEN_BY.findall(text, end_of_last, match.start())
        found[name] = Table(name, tuple(columns), written_by[-1], partitioned=name != "prompts")
        end_of_last = match.end()
    return found


@cache
def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
        "INTEGER[]": pa.list_(pa.int32()),
    }
