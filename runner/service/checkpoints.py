"""Checkpoints on disk: adapter, AdamW state and what they belong to, exact to the bit.

A checkpoint `tinker://RUN/weights/NAME` is the folder `RUN/weights/NAME` below the state directory, with the
colons of the run's id written as underscores. It appears whole or not at all: it is written beside its place
and renamed. A service that is started again on the same state directory serves the same paths.
"""

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file, save_file

from runner.service.base_models import BaseModel
from runner.service.faults import UserFault, unknown
from runner.service.lora import Adapter, LoraSpec
from runner.service.training import Moments

FORMAT_VERSION = 1
Kind = Literal["weights", "sampler_weights"]
_PATH = re.compile(
    r"tinker://(?P<run>[0-9a-f-]+:train:[0-9]+)/(?P<kind>weights|sampler_weights)/(?P<name>[\w.-]{1,128})", re.ASCII
)


@dataclass(frozen=True)
class Description:
    """What a checkpoint holds."""

    base_model: str
    base_fingerprint: str
    spec: LoraSpec
    has_optimizer: bool


class CheckpointStore:
    """The checkpoints below one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._root = state_dir / "checkpoints"
        self._root.mkdir(parents=True, exist_ok=True)

    def exists(self, path: str) -> bool:
        """Say whether a checkpoint of this path was saved.

        Raises:
            UserFault: If the path or the name in it is malformed.
        """
        return self._folder(path).is_dir()

    def describe(self, path: str) -> Description:
        """Read what a checkpoint holds, without its tensors.

        Raises:
            UserFault: If there is no such checkpoint, or a later version of the service wrote it.
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
        return Description(
            base_model=content["base_model"],
            base_fingerprint=content["base_fingerprint"],
            spec=LoraSpec(**content["lora"]),
            has_optimizer=content["has_optimizer"],
        )

    def save(
        self, path: str, base: BaseModel, spec: LoraSpec, adapter: Adapter, moments: Moments | None, *, overwrite: bool
    ) -> None:
        """Write a checkpoint; `moments` is None for one that only samples.

        Raises:
            UserFault: If the name is taken and `overwrite` is not set.
        """
        folder = self._folder(path)
        if folder.exists() and not overwrite:
            raise taken(path)
        folder.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "format_version": FORMAT_VERSION,
            "base_model": base.name,
            "base_fingerprint": base.fingerprint,
            "lora": asdict(spec),
            "has_optimizer": moments is not None,
        }
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            save_file(adapter, new / "adapter.safetensors")
            if moments is not None:
                save_file(moments, new / "optimizer.safetensors")
            (new / "checkpoint.json").write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            for written in new.iterdir():
                _flush(written)
            if folder.exists():
                folder.rename(Path(scratch) / "old")
            new.rename(folder)

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


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
