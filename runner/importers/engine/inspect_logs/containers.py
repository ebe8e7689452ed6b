"""Opens the two containers of Inspect's logs: a zip archive with a member a sample, or one JSON file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError
from runner.importers.engine.archives import Archive, is_archive, open_archive
from runner.importers.engine.checks import short
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import open_source, parsed_object, read_json

_HEADER = "header.json"
_START = "_journal/start.json"
_SAMPLE = re.compile(r"samples/.+_epoch_[0-9]+\.json", re.DOTALL)
_CHUNKED = re.compile(r"samples/(.+_epoch_[0-9]+)/sample\.json", re.DOTALL)
# How a log begins as JSON: Inspect writes these keys first.
_BEGINNING = re.compile(rb'\s*\{\s*"version"\s*:\s*[0-9]+\s*,\s*"status"\s*:\s*"[a-z]+"\s*,\s*"eval"\s*:\s*\{')
_LARGEST_JSON = 256 << 20


@dataclass(frozen=True)
class InspectLog:
    """An opened log.

    Attributes:
        header: the log without its samples. Of a log that was never finished it has no `status`.
        samples: one in memory at a time, where the container allows it.
        superseded: members that a later one of the same name replaces: Inspect writes a sample again so.
    """

    header: Record
    samples: Iterator[Record]
    superseded: int = 0


def is_log(path: Path) -> bool:
    """Return whether a file is a log by its name and first bytes; never raises."""
    if path.suffix == ".eval":
        return is_archive(path)
    if path.suffix != ".json":
        return False
    try:
        with open_source(path) as opened:
            return _BEGINNING.match(opened.read(1 << 12)) is not None
    except AuditError:
        return False


def logs_in(folder: Path) -> list[Path]:
    """Return the logs that stand in a folder, sorted."""
    return sorted(path for path in folder.glob("*") if path.is_file() and is_log(path))


@contextmanager
def open_log(path: Path) -> Iterator[InspectLog]:
    """Open a log.

    Raises:
        AuditError: the file is no log, broken, or beyond the bounds of an archive.
    """
    if path.suffix == ".json":
        if path.is_file() and path.stat().st_size > _LARGEST_JSON:
            raise AuditError(
                f"{path}: more than {_LARGEST_JSON:,} bytes of one JSON object, which would stand in memory. Write it "
                "as an archive: `inspect log convert --to eval --output-dir FOLDER` with this file"
            )
        header = read_json(path)
        samples = header.values.get("samples")
        yield InspectLog(header, header.parts("samples") if samples is not None else iter(()))
        return
    # Inspect appends a sample that is run again under the same name; its own reader takes the last.
    with open_archive(path, last_wins=True) as archive:
        name = next((name for name in (_HEADER, _START) if name in archive.names), None)
        if name is None:
            raise AuditError(f"{path}: is an archive without {_HEADER} and {_START}, so no log of Inspect")
        header = parsed_object(archive.read(name), f"{path}, {name}")
        yield InspectLog(header, _samples(archive, path), archive.superseded)


def _samples(archive: Archive, path: Path) -> Iterator[Record]:
    for name in archive.names:
        chunked = _CHUNKED.fullmatch(name)
        if chunked:
            raise AuditError(
                f"{path}: sample {short(chunked[1])} is stored in pieces, which this importer does not read. Import "
                "the log that `inspect log convert-chunked` made it of"
            )
        if _SAMPLE.fullmatch(name):
            yield parsed_object(archive.read(name), f"{path}, {short(name)}")
