"""Files that a reader sees whole or not at all, and lines that are whole and stay."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from analysis.errors import AuditError
from audits.store.location import is_local


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a new file beside `path` to write to; it takes the place of `path` when the block ends well.

    Its name cannot be foreseen, so that no link that somebody left in a run can send the content elsewhere.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_whole(path: Path) -> str:
    """Return the text of a file of a run; what is no regular file is refused, since a pipe would be waited for.

    Raises:
        OSError: it is missing, not readable or no file.
        UnicodeDecodeError: it is not UTF-8.
    """
    if is_local(path) and path.exists() and not path.is_file():
        raise OSError("it is not a file")
    return path.read_text(encoding="utf-8")


class Content:
    """A file that is being written, with the digest and size of what was written so far."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle, self._digest = handle, hashlib.sha256()
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        self._digest.update(data)
        written = self._handle.write(data)
        self.bytes += written
        return written

    @property
    def sha256(self) -> str:
        """Digest of what was written, in hexadecimal digits."""
        return self._digest.hexdigest()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._handle.closed

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._handle.flush()

    def close(self) -> None:
        """Do nothing: who opened the file makes it durable and closes it."""


@contextmanager
def whole_content(path: Path) -> Iterator[Content]:
    """Give a file to write to piece by piece; a reader sees the old content or, after the block, the new."""
    with whole_file(path) as temporary, temporary.open("wb") as handle:
        yield Content(handle)
        handle.flush()
        os.fsync(handle.fileno())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    with whole_content(path) as sink:
        sink.write(content)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where the platform can open a directory."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_lines(path: Path, lines: list[str]) -> None:
    """Append whole lines and make them durable; a torn last line of a dead writer is cut off first.

    Raises:
        AuditError: the file is a link: a run that came from elsewhere must not send our lines into another file.
    """
    if path.is_symlink():
        raise AuditError(f"{path}: is a link; a run holds its files itself. Put the file in its place")
    with path.open("ab+") as handle:
        if handle.seek(0, os.SEEK_END):
            handle.seek(-1, os.SEEK_END)
            if handle.read() != b"\n":
                handle.seek(0)
                handle.truncate(handle.read().rfind(b"\n") + 1)
        handle.seek(0, os.SEEK_END)
        handle.write("".join(line + "\n" for line in lines).encode("utf-8"))
        handle.flush()
        os.fsync(handle.fileno())


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file for as long as the block lasts; the lock ends with the process, however that ends.

    Raises:
        AuditError: another process holds it.
    """
    if os.name == "nt":
        # No run is written there: the part that audits needs no lock.
        yield
        return
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AuditError(f"{path}: another process is writing this run. Wait for it, or end it first") from None
        yield


def remove_unfinished(folder: Path) -> None:
    """Remove what `whole_file` leaves below a folder when its process is killed."""
    for path in folder.rglob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
