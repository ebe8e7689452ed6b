"""Checkpoints on disk: adapter, AdamW state and what they belong to, exact to the bit.

A checkpoint `tinker://RUN/weights/NAME` is the folder `RUN/weights/NAME` below the state directory, with the
colons of the run's id written as underscores. It appears whole or not at all, whenever the service is killed:
it is written beside its place and renamed, and a replacement that was cut short is completed at the next start.
A service that is started again on the same state directory serves the same paths.
"""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file, save_file

from runner.service.base_models import BaseModel
from runner.service.durability import flush, flush_folder
from runner.service.faults import UserFault, unknown
from runner.service.lora import Adapter, LoraSpec
from runner.service.training import Moments

FORMAT_VERSION = 1
Kind = Literal["weights", "sampler_weights"]
_SCRATCH = ".writing-"
_WHOLE = "whole"
_PATH = re.compile(
    r"tinker://(?P<run>[0-9a-f-]+:train:[0-9]+)/(?P<kind>weights|sampler_weights)/(?P<name>[\w.-]{1,128})", re.ASCII
)


@dataclass(frozen=True)
class Description:
    """What a checkpoint holds; `expires_at` is in seconds since 1970 UTC, None for one that never expires."""

    base_model: str
    base_fingerprint: str
    spec: LoraSpec
    has_optimizer: bool
    expires_at: float | None


class CheckpointStore:
    """The checkpoints below one state directory."""

    def __init__(self, state_dir: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = state_dir / "checkpoints"
        self._root.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        for scratch in self._root.glob(f"*/*/{_SCRATCH}*"):
            _settle(scratch)

    def exists(self, path: str) -> bool:
        """Say whether a checkpoint of this path was saved and has not expired.

        Raises:
            UserFault: If the path or the name in it is malformed.
        """
        if not self._folder(path).is_dir():
            return False
        try:
            self.describe(path)
        except UserFault:
            return self._folder(path).is_dir()
        return True

    def saved_states(self, model_id: str) -> list[str]:
        """List the paths of a run's saved states, the newest last; none for an id that no run has."""
        if _PATH.fullmatch(checkpoint_path(model_id, "weights", "any")) is None:
            return []
        folder = self._root / model_id.replace(":", "_") / "weights"
        files = [file for file in folder.glob("*/checkpoint.json") if not file.parent.name.startswith(".")]
        files.sort(key=lambda file: file.stat().st_mtime_ns)
        paths = [checkpoint_path(model_id, "weights", file.parent.name) for file in files]
        return [path for path in paths if self.exists(path)]

    def describe(self, path: str) -> Description:
        """Read what a checkpoint holds, without its tensors.

        Raises:
            UserFault: If there is no such checkpoint, it has expired, or a later version of the service wrote it.
        """
        try:
            text = (self._folder(path) / "checkpoint.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise unknown("checkpoint", path) from None
        content = json.loads(text)
        if content["format_version"] != FORMAT_VERSION:
            raise UserFault(
                f"{path} has format version {content['format_version']}; this service reads {FORMAT_VERSION}"
            )
        found = Description(
            base_model=content["base_model"],
            base_fingerprint=content["base_fingerprint"],
            spec=LoraSpec(**content["lora"]),
            has_optimizer=content["has_optimizer"],
            expires_at=content.get("expires_at"),
        )
        if found.expires_at is not None and found.expires_at <= self._clock():
            shutil.rmtree(self._folder(path), ignore_errors=True)
            raise UserFault(f"checkpoint {path} has expired: it was saved with ttl_seconds", status=404)
        return found

    def save(
        self,
        path: str,
        base: BaseModel,
        spec: LoraSpec,
        adapter: Adapter,
        moments: Moments | None,
        *,
        overwrite: bool,
        ttl_seconds: int | None = None,
    ) -> None:
        """Write a checkpoint; `moments` is None for one that only samples, `ttl_seconds` for one that stays.

        Raises:
            UserFault: If the name is taken and `overwrite` is not set.
        """
        if self.exists(path) and not overwrite:
            raise taken(path)
        folder = self._folder(path)
        folder.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "format_version": FORMAT_VERSION,
            "base_model": base.name,
            "base_fingerprint": base.fingerprint,
            "lora": asdict(spec),
            "has_optimizer": moments is not None,
            "expires_at": None if ttl_seconds is None else self._clock() + ttl_seconds,
        }
        scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder.parent))
        try:
            new = scratch / "unfinished"
            new.mkdir()
            save_file(_on_cpu(adapter), new / "adapter.safetensors")
            if moments is not None:
                save_file(_on_cpu(moments), new / "optimizer.safetensors")
            (new / "checkpoint.json").write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            for written in new.iterdir():
                flush(written)
            flush_folder(new)
            (scratch / _WHOLE).mkdir()
            new.rename(scratch / _WHOLE / folder.name)
            flush_folder(scratch / _WHOLE)
        finally:
            _settle(scratch)

    def load_adapter(self, path: str) -> Adapter:
        """Read the adapter of a checkpoint."""
        return _tensors(self._folder(path) / "adapter.safetensors", path)

    def load_moments(self, path: str) -> Moments:
        """Read the AdamW state of a checkpoint; empty if it was saved before the first step."""
        return _tensors(self._folder(path) / "optimizer.safetensors", path)

    def _folder(self, path: str) -> Path:
        match = _PATH.fullmatch(path)
        if match is None or match["name"].startswith("."):
            raise UserFault(
                f"{path!r} is no checkpoint path: tinker://RUN/weights/NAME or tinker://RUN/sampler_weights/NAME, "
                "with letters, digits, '_', '-' and '.' in NAME and no '.' at its start"
            )
        return self._root / match["run"].replace(":", "_") / match["kind"] / match["name"]


def checkpoint_path(model_id: str, kind: Kind, name: str) -> str:
    """Return the tinker path of a checkpoint of a training run."""
    return f"tinker://{model_id}/{kind}/{name}"


def taken(path: str) -> UserFault:
    """Return the fault for a name that is in use."""
    return UserFault(f"{path} exists; choose another name or set overwrite")


def _tensors(file: Path, path: str) -> dict[str, Any]:
    try:
        return dict(load_file(file))
    except FileNotFoundError:
        raise unknown("checkpoint", path) from None


def _on_cpu(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.cpu() for name, tensor in tensors.items()}


def _settle(scratch: Path) -> None:
    """Put the finished checkpoint of a scratch folder in its place and remove the rest, whatever came before.

    Called again after a crash at any point, it ends where it would have ended: the old one is moved out of the
    way first, and the finished one stays in the scratch folder until it has its place.
    """
    target_folder = scratch.parent
    for finished in (scratch / _WHOLE).glob("*"):
        place = target_folder / finished.name
        if place.exists():
            place.rename(scratch / "replaced")
        finished.rename(place)
        flush_folder(target_folder)
    shutil.rmtree(scratch)
