"""Where a run's files stand: `<table>/arm=<arm>/seed=<seed>/<file>`, and what a path says about its file.

The keys are read here and nowhere else. An engine's own reading of `key=value` folders would take them from the
whole path, and a run that stands under `lr=0.1/seed=3/` would get other arms, other seeds and further columns.
"""

import re
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

_PARTITION = re.compile(r"^[^/]+/arm=([^/]+)/seed=([0-9]{1,15})/([^/]+)$")
_CHECKPOINT = re.compile(r"^checkpoint=([^/]+)\.parquet$")
_STEP = re.compile(r"^step=([0-9]+)\.parquet$")


def partition_folder(table: str, arm: str, seed: int) -> PurePosixPath:
    """Return the folder of one arm and seed; a character of the arm's name that a path cannot hold is escaped.

    Raises:
        ValueError: the arm has no name, or the seed is negative.
    """
    if not arm or seed < 0:
        raise ValueError(f"arm {arm!r}, seed {seed}: an arm has a name and a seed is at least 0")
    return PurePosixPath(table) / f"arm={quote(arm, safe=' ')}" / f"seed={seed}"


def partition_of(path: str) -> tuple[str, int] | None:
    """Return arm and seed of a data file by its path relative to the run, None where the path names none."""
    match = _PARTITION.match(path)
    return (unquote(match[1]), int(match[2])) if match else None


def step_of(path: str) -> int | None:
    """Return the rollout step of a data file, None where the file is of no step."""
    match = _STEP.match(path.rsplit("/", 1)[-1])
    return int(match[1]) if match else None


def outside_fault(path: str) -> str | None:
    """Return what is wrong with a path of `files.jsonl` that leads out of the run, None where it stays inside."""
    pure = PurePosixPath(path)
    if not path.isprintable() or "\\" in path or pure.is_absolute() or ".." in pure.parts:
        return "lies outside the run directory"
    return None


def checkpoint_of(path: str) -> str | None:
    """Return the checkpoint of an evaluation file, None where the file is of none."""
    match = _CHECKPOINT.match(path.rsplit("/", 1)[-1])
    return match[1] if match else None


def path_fault(path: str, table: str, partitioned: bool) -> str | None:
    """Return what is wrong with a path of `files.jsonl`, None where it stands where the format says."""
    pure = PurePosixPath(path)
    outside = outside_fault(path)
    if outside:
        return outside
    if pure.as_posix() != path:
        return f"is written otherwise than {pure.as_posix()!r}"
    if not partitioned:
        return None if path == f"{table}.parquet" else f"is not {table}.parquet"
    if partition_of(path) is None or pure.parts[0] != table:
        return f"is not {table}/arm=<arm>/seed=<seed>/<file>"
    return None
