"""Who made a run: versions, commit, command line and time, for `run.json`."""

import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PACKAGES = (
    "runaudit", "tinker", "tinker-cookbook", "torch", "transformers", "duckdb", "polars", "pyarrow", "numpy", "scipy",
)  # fmt: skip


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
        `commit` and `dirty`; both None with a `reason` where there is no checkout or no git.
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = _git(folder, "status", "--porcelain") != ""
    except (OSError, subprocess.SubprocessError) as error:
        return {"commit": None, "dirty": None, "reason": f"no git commit ({type(error).__name__})"}
    return {"commit": commit, "dirty": dirty}


def command_line() -> list[str]:
    """Return the command as it was typed, with the program's path cut to its name."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout.strip()
