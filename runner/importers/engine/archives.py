"""Reads zip archives member by member, with bounds, and believes nothing that an archive says of itself.

Nothing is unpacked to disk, and an archive inside an archive is a member like any other: its bytes are never opened.
Members are stored, deflated or Zstandard (method 93, which Inspect writes).
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from analysis.errors import AuditError
from audits.store.zstd import zstd_stream
from runner.importers.engine.checks import counted, short
from runner.importers.engine.source_files import open_source

_MOST_ENTRIES = 200_000
_LARGEST_MEMBER = 256 << 20
_LARGEST_TOTAL = 64 << 30
_LARGEST_DIRECTORY = 256 << 20
# As of a compressed file: beyond the first bytes, text that compresses better than this is made to.
_RATIO = 200
_ALWAYS_ALLOWED = 64 << 20
_BLOCK = 1 << 20

_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1
_ZSTANDARD = 93
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD}


def is_archive(path: Path) -> bool:
    """Return whether a file begins as a zip archive does; never raises."""
    try:
        with open_source(path) as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except AuditError:
        return False


class Archive:
    """An opened zip archive; get one from `open_archive`.

    Attributes:
        names: of its members, each once, in the archive's order of their last entries.
        superseded: how many entries a later one of the same name replaces.
    """

    def __init__(self, opened: BinaryIO, entries: dict[str, zipfile.ZipInfo], superseded: int, path: Path) -> None:
        self.names = tuple(entries)
        self.superseded = superseded
        self._opened, self._entries, self._path = opened, entries, path
        self._read = self._taken = 0

    def read(self, name: str) -> bytes:
        """Return a member's bytes.

        Raises:
            AuditError: it is broken, not what its entry says, or beyond the bounds; file and member are named.
            KeyError: there is no such member.
        """
        entry = self._entries[name]
        where = f"{self._path}, {short(name)}"
        found, checksum = bytearray(), 0
        for piece in _pieces(self._member(entry, where), entry.compress_type, where):
            found += piece
            checksum = zlib.crc32(piece, checksum)
            self._check_size(len(found), entry, where)
        if len(found) != entry.file_size or checksum != entry.CRC:
            raise AuditError(f"{where}: {len(found):,} bytes came out of it, and they are not those that were written")
        self._read += len(found)
        self._taken += entry.compress_size
        return bytes(found)

    def _member(self, entry: zipfile.ZipInfo, where: str) -> "_Part":
        # A list that lies of its own place moves all members by as much, also before the file.
        self._opened.seek(max(entry.header_offset, 0))
        header = self._opened.read(_LOCAL_HEADER)
        if entry.header_offset < 0 or len(header) < _LOCAL_HEADER or header[: len(_MAGIC)] != _MAGIC:
            raise AuditError(f"{where}: the archive has no member where its list says (cut off?)")
        beside = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return _Part(self._opened, entry.header_offset + _LOCAL_HEADER + beside, entry.compress_size)

    def _check_size(self, size: int, entry: zipfile.ZipInfo, where: str) -> None:
        if size > entry.file_size:
            raise AuditError(f"{where}: more came out of it than the {entry.file_size:,} bytes that its entry says")
        total, taken = self._read + size, self._taken + entry.compress_size
        if total > _ALWAYS_ALLOWED and total > _RATIO * taken:
            raise AuditError(
                f"{where}: with it {total:,} bytes came out of {taken:,}, more than {_RATIO} times as many: no log "
                "compresses so well"
            )


@contextmanager
def open_archive(path: Path, *, last_wins: bool = False) -> Iterator[Archive]:
    """Open a zip archive whose list of members is within bounds.

    Args:
        path: the file.
        last_wins: whether an entry replaces earlier ones of its name, where the tool that writes the archive says so;
            else a name that stands twice is refused.

    Raises:
        AuditError: it is no file, no zip archive, cut off, encrypted, of an unknown method, has a name that leads out
            of it or stands twice, or is beyond the bounds.
    """
    with open_source(path) as opened:
        infos = _listed(opened, path)
        entries = {info.filename: info for info in infos}
        if len(entries) < len(infos) and not last_wins:
            names = [info.filename for info in infos]
            twice = next(name for name in entries if names.count(name) > 1)
            raise AuditError(f"{path}: member {short(twice)} stands more than once. Which one is meant?")
        _check(entries, path)
        yield Archive(opened, entries, len(infos) - len(entries), path)


def _listed(opened: BinaryIO, path: Path) -> list[zipfile.ZipInfo]:
    try:
        infos = zipfile.ZipFile(_Guarded(opened, path)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable as a zip archive ({error!s:.200}): cut off?") from error
    if len(infos) > _MOST_ENTRIES:
        raise AuditError(f"{path}: {counted(len(infos), 'member')}, more than {_MOST_ENTRIES:,}")
    return infos


def _check(entries: dict[str, zipfile.ZipInfo], path: Path) -> None:
    for name, entry in entries.items():
        where = f"{path}, {short(name)}"
        if ".." in name.replace("\\", "/").split("/") or name.startswith(("/", "\\")) or name[1:2] == ":":
            raise AuditError(f"{where}: a name that leads out of the archive")
        if entry.flag_bits & _ENCRYPTED:
            raise AuditError(f"{where}: encrypted. Write the archive again without a password")
        if entry.compress_type not in _METHODS:
            raise AuditError(f"{where}: compressed by method {entry.compress_type}; stored, deflate and zstd are read")
        if entry.file_size > _LARGEST_MEMBER:
            raise AuditError(f"{where}: {entry.file_size:,} bytes, more than the {_LARGEST_MEMBER:,} of one member")
    total = sum(entry.file_size for entry in entries.values())
    if total > _LARGEST_TOTAL:
        raise AuditError(f"{path}: {total:,} bytes in all, more than {_LARGEST_TOTAL:,}")


def _pieces(member: "_Part", method: int, where: str) -> Iterator[bytes]:
    """Yield what a member holds, decompressed, never more than a block at a time."""
    try:
        if method == zipfile.ZIP_DEFLATED:
            yield from _inflated(member)
            return
        stream = zstd_stream(member) if method == _ZSTANDARD else member  # type: ignore[arg-type]
        while piece := stream.read(_BLOCK):
            yield piece
    except (OSError, zlib.error) as error:
        raise AuditError(f"{where}: not readable ({error!s:.200}): cut off?") from error


def _inflated(member: "_Part") -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflater.eof and (block := inflater.unconsumed_tail or member.read(_BLOCK)):
        yield inflater.decompress(block, _BLOCK)
    yield inflater.flush()


class _Part(io.RawIOBase):
    """Some bytes of a file, as a file of its own."""

    def __init__(self, opened: BinaryIO, start: int, size: int) -> None:
        self._opened, self._at, self._end = opened, start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._opened.seek(self._at)
        found = self._opened.read(min(len(buffer), self._end - self._at))
        self._at += len(found)
        buffer[: len(found)] = found
        return len(found)


class _Guarded(io.RawIOBase):
    """A file that refuses to be read at once in a size that only a made list of members has."""

    def __init__(self, opened: BinaryIO, path: Path) -> None:
        self._opened, self._path = opened, path

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._opened.seek(offset, whence)

    def tell(self) -> int:
        return self._opened.tell()

    def read(self, size: int = -1) -> bytes:
        if size > _LARGEST_DIRECTORY:
            raise AuditError(f"{self._path}: its list of members has {size:,} bytes, more than {_LARGEST_DIRECTORY:,}")
        return self._opened.read(size)
