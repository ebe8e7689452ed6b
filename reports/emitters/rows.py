"""Rows of a query as a table for the terminal."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from analysis.printable import printable

_CELL = 120


def rows_table(names: Sequence[str], rows: Iterable[Sequence[Any]], limit: int) -> str:
    """Return an aligned table of at most `limit` rows; it says when there are more.

    Args:
        names: column names.
        rows: the rows; one more than the limit is read, to know whether there are more.
        limit: rows to show.
    """
    shown = list(islice(rows, limit + 1))
    more = len(shown) > limit
    cells = [[_cell(value) for value in row] for row in shown[:limit]]
    numeric = [
        all(isinstance(row[index], int | float) or row[index] is None for row in shown) for index in range(len(names))
    ]
    header = [printable(name, limit=_CELL) for name in names]
    widths = [max([len(header[i]), *(len(row[i]) for row in cells)]) for i in range(len(names))]
    lines = [_line(header, widths, numeric), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths, numeric) for row in cells]
    if more:
        lines.append(f"… more than {limit} rows; --limit shows more, --format csv all")
    else:
        lines.append(f"({len(cells)} row{'' if len(cells) == 1 else 's'})")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    return f"{value:.10g}" if isinstance(value, float) else printable(str(value), limit=_CELL)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(aligned).rstrip()
