"""Columns of Python values as Arrow tables of the run format."""

from collections.abc import Iterable, Sequence
from typing import Any

from audits.store.schema import Table


def table_schema(table: Table, present: Iterable[str], where: str) -> Any:
    """Return the Arrow schema of a file with these columns.

    Args:
        table: of the run format.
        present: names of the columns that the file is to have.
        where: the file, for messages.

    Raises:
        ValueError: a column is unknown, or one that the format demands is not there.
    """
    names = set(present)
    unknown = sorted(names - {column.name for column in table.columns})
    if unknown:
        raise ValueError(f"{where}: table {table.name} has no column {', '.join(unknown)}")
    schema = table.arrow_schema(names)
    missing = [name for name in schema.names if name not in names]
    if missing:
        raise ValueError(f"{where}: table {table.name} needs {', '.join(missing)}")
    return schema


def arrow_array(values: Sequence[Any], arrow_type: Any) -> Any:
    """Return values as an Arrow array; a fraction is never cut to a whole number.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowTypeError: a value is of another type or out of range.
    """
    import pyarrow as pa

    # Built at once as whole numbers, 0.5 would become 0 without a word; a cast refuses it.
    return pa.array(values).cast(arrow_type) if pa.types.is_integer(arrow_type) else pa.array(values, arrow_type)


def refuse_nulls(arrow: Any, where: str) -> None:
    """Refuse a table with nulls in a column whose field says that it has none.

    Raises:
        ValueError: it has; the column is named.
    """
    for field in arrow.schema:
        if not field.nullable and arrow.column(field.name).null_count:
            raise ValueError(f"{where}: {field.name} has nulls and must not")
