"""Lines of verl's console logger in a log of everything that a training printed."""

import re
from collections.abc import Iterator
from pathlib import Path

from analysis.errors import AuditError
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import open_source, whole_lines

# Ray puts the name of its worker before a line, in colours.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"(?:^|\s)step:([0-9]{1,9}) - (.+)$")
_NUMPY = re.compile(r"np\.(?:float|int|uint)[0-9]*\(([^()]*)\)")
_PEEKED_BYTES = 4 << 20


def looks_like_console(path: Path) -> bool:
    """Return whether the first megabytes of a file hold a line of figures; never raises."""
    try:
        with open_source(path) as opened:
            head = opened.read(_PEEKED_BYTES)
    except AuditError:
        return False
    return any(_LINE.search(_plain(line)) for line in head.split(b"\n") if b"step:" in line)


def console_figures(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the figures of each step that a console log holds.

    Raises:
        AuditError: no line of the log holds figures, or the last such line has no end: its last number may be cut.
    """
    found = False
    with open_source(path) as opened:
        for number, line in enumerate(whole_lines(opened, path), start=1):
            match = _LINE.search(_plain(line)) if b"step:" in line else None
            if match is None:
                continue
            where = f"{path}, line {number}"
            if not line.endswith(b"\n"):
                raise AuditError(
                    f"{where}: the last line has no end, so its last number may be cut off; end or remove it"
                )
            yield int(match[1]), Record(dict(_pairs(match[2])), where)
            found = True
    if not found:
        raise AuditError(
            f"{path}: neither a dump (input, output, score) nor a log of verl's: no line holds `step:1 - key:value`"
        )


def _plain(line: bytes) -> str:
    return _COLOUR.sub("", line.decode("utf-8", errors="replace")).rstrip()


def _pairs(text: str) -> Iterator[tuple[str, object]]:
    for part in text.split(" - "):
        key, _, value = part.rpartition(":")
        stated = _NUMPY.sub(r"\1", value.strip())
        try:
            yield key.strip() or part, float(stated)
        except ValueError:
            yield key.strip() or part, stated
