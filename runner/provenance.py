"""Who made a run: versions, commit, command line and time, for `run.json`."""

import functools
import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

_PACKAGES = (
    "runaudit", "tinker", "tinker-cookbook", "torch", "transformers", "duckdb", "polars", "pyarrow", "numpy", "scipy",
)  # fmt: skip
_SOURCES = ("analysis", "audits", "runner", "sql")


def utc_now() -> str:
    """Return the local clock's time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def versions() -> dict[str, str]:
    """Return the versions of Python, the platform and of those packages that are installed."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def git_state(folder: Path) -> dict[str, Any]:
    """Return the commit of the checkout that holds `folder` and whether it has uncommitted changes.

    Returns:
        `commit`, `dirty` and `diff_sha256` (of the changes to tracked files, None where there are none); all None with
        a `reason` where there is no checkout or no git.
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = _git(folder, "status", "--porcelain") != ""
        diff = _git(folder, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv")
    except (OSError, subprocess.SubprocessError) as error:
        return {"commit": None, "dirty": None, "diff_sha256": None, "reason": f"no git commit ({type(error).__name__})"}
    digest = sha256(diff.encode("utf-8", "surrogateescape")).hexdigest() if diff else None
    return {"commit": commit, "dirty": dirty, "diff_sha256": digest}


@functools.cache
def source_sha256() -> str:
    """Return the sha256 of our own Python and SQL files, names and contents, when it was first asked for."""
    root = Path(__file__).resolve().parents[1]
    digest = sha256()
    for folder in _SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".py", ".sql"}:
                digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
                digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def command_line() -> list[str]:
    """Return the command as it was typed, with the program's path cut to its name."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=True, timeout=20)
    return done.stdout.decode("utf-8", "surrogateescape").strip()
