"""Reads the files of a source: whole JSON, JSON lines one at a time, and their digests.

A file whose name ends in `.gz` or `.zst` is decompressed while it is read; its digest is that of the file as it stands.
"""

import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from analysis.errors import AuditError
from runner.importers.engine.compressed import decompressed, is_compressed
from runner.importers.engine.imported import SourceFile
from runner.importers.engine.record import Record

# A first line longer than this is no record of any known tool, and a sniff must not read gigabytes.
_PEEKED_BYTES = 16 << 20
_LONGEST_LINE = 64 << 20
_BLOCK = 1 << 20
_PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib"}


def source_file(path: Path, name: str | None = None) -> SourceFile:
    """Return name, digest and size of a file.

    Raises:
        AuditError: it is missing, no regular file, or not readable.
    """
    digest, size = hashlib.sha256(), 0
    with _open_raw(path) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return SourceFile(name or path.name, digest.hexdigest(), size)


def read_json(path: Path) -> Record:
    """Return the object that a JSON file holds.

    Raises:
        AuditError: it is empty, cut off, no JSON, no object, or a key stands twice.
    """
    with open_source(path) as opened:
        content = opened.read()
    if not content.strip():
        raise AuditError(f"{path}: the file is empty")
    return parsed_object(content, str(path))


def json_lines(path: Path) -> Iterator[Record]:
    """Yield the objects of a JSON-lines file, one line in memory at a time; blank lines are passed over.

    Raises:
        AuditError: a line is no JSON object, or the file has none; the line is named.
    """
    yield from (record for _, record in numbered_json_lines(path))


def numbered_json_lines(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield number and object of each line, as `json_lines` does."""
    held = False
    with open_source(path) as opened:
        for number, line in enumerate(whole_lines(opened, path), start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            if not line.endswith(b"\n"):
                where += " (the last, without a line end: cut off?)"
            yield number, parsed_object(line, where)
            held = True
    if not held:
        raise AuditError(f"{path}: the file is empty")


def peek(path: Path) -> dict[str, Any] | None:
    """Return the object in a file's first line, or in the whole of a JSON file; None where there is none."""
    try:
        with open_source(path) as opened:
            head = opened.read(_PEEKED_BYTES)
    except AuditError:
        return None
    first_line = head.lstrip().split(b"\n", 1)[0]
    for text in (first_line, head):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def folder_entries(folder: Path) -> list[Path]:
    """Return what stands in a folder, by name.

    Raises:
        AuditError: it cannot be listed.
    """
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise AuditError(f"{folder}: cannot be listed ({error.strerror})") from error


def refuse_pickle(path: Path) -> None:
    """Refuse a file that only unpickling could read.

    Raises:
        AuditError: the file is a pickle by its name or its first bytes.
    """
    if not path.is_file():
        return
    with open_source(path) as opened:
        head = opened.read(2)
    if path.suffix.lower() in _PICKLES or (head[:1] == b"\x80" and head[1:2] in {b"\x02", b"\x03", b"\x04", b"\x05"}):
        raise AuditError(
            f"{path}: a pickle is refused, because reading one runs whatever program is in it. Write the same data as "
            "JSON lines, CSV or Parquet with the tool that made it"
        )


def open_source(path: Path) -> BinaryIO:
    """Open a file for reading; what is compressed by its name is decompressed, within bounds.

    Raises:
        AuditError: it is missing, no regular file, or not readable.
    """
    raw = _open_raw(path)
    return decompressed(raw, path) if is_compressed(path) else raw


def whole_lines(opened: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of an opened file, with their line ends.

    Raises:
        AuditError: a line is longer than any record; it is named.
    """
    number = 0
    while line := opened.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise AuditError(f"{path}, line {number}: longer than {_LONGEST_LINE:,} bytes; no record is")
        yield line


def parsed_object(content: bytes, where: str) -> Record:
    """Return the JSON object that some bytes are.

    Raises:
        AuditError: they are no JSON, no object, or a key stands twice in one.
    """
    try:
        found = _DECODER.decode(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise AuditError(f"{where}: not UTF-8 text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        # ValueError: not JSON, cut off, an integer of thousands of digits, or a key that stands twice.
        raise AuditError(f"{where}: not readable as JSON ({error!s:.200})") from error
    if not isinstance(found, dict):
        raise AuditError(f"{where}: a JSON object is needed, found {type(found).__name__}")
    return Record(found, where)


def _open_raw(path: Path) -> BinaryIO:
    try:
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a directory" if path.is_dir() else "no regular file"
            raise AuditError(f"{path}: is {what}; name the file")
        return path.open("rb")
    except FileNotFoundError:
        raise AuditError(f"{path}: there is no such file") from None
    except OSError as error:
        raise AuditError(f"{path}: not readable ({error.strerror})") from error


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f'key "{twice:.80}" stands twice in one object')
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_each_key_once)
