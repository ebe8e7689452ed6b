"""Reads what is compressed as a stream, with bounds: a small file must not become an endless one."""

import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from analysis.errors import AuditError
from audits.store.zstd import zstd_stream

# Beyond the first bytes, text that compresses better than this is made to: logs reach 10 to 50.
_RATIO = 200
_ALWAYS_ALLOWED = 64 << 20
_LARGEST = 256 << 30
_BUFFER = 1 << 20


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed by its name."""
    return path.suffix.lower() in {".gz", ".zst"}


def plain_suffix(path: Path) -> str:
    """Return the ending of a name, in lower case, that says what is in the file: `.csv` of `x.CSV.gz`."""
    return Path(path.stem).suffix.lower() if is_compressed(path) else path.suffix.lower()


def decompressed(raw: BinaryIO, path: Path) -> BinaryIO:
    """Return what a compressed file holds, as a stream.

    Args:
        raw: the file, opened; it is closed with what is returned.
        path: its name, which says how it is compressed.

    Raises:
        AuditError: while reading, where the file is broken or cut off, or inflates beyond the bounds.
    """
    import gzip

    stream = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else zstd_stream(raw)
    return io.BufferedReader(_Bounded(raw, stream, path), _BUFFER)


class _Bounded(io.RawIOBase):
    """A decompressing stream whose output is counted, and whose faults name the file."""

    def __init__(self, raw: BinaryIO, stream: Any, path: Path) -> None:
        self._raw, self._stream, self._path = raw, stream, path
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise AuditError(f"{self._path}: not readable as a compressed file ({error!s:.200}): cut off?") from error
        self._read += len(found)
        taken = max(self._raw.tell(), 1)
        if self._read > _ALWAYS_ALLOWED and self._read > _RATIO * taken:
            raise AuditError(
                f"{self._path}: {self._read:,} bytes came out of {taken:,}, more than {_RATIO} times as many: no log "
                "compresses so well. Decompress it yourself if you trust it"
            )
        if self._read > _LARGEST:
            raise AuditError(f"{self._path}: more than {_LARGEST:,} bytes came out of it. Decompress it yourself")
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._raw.close()
        super().close()
