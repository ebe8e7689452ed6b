"""Which base models a service offers: the shipped one, published ones, and any Hugging Face folder that is named."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from analysis.errors import AuditError
from runner.cache import cache_root
from runner.service import gguf_models
from runner.service.models import smollm2

SHIPPED_MODELS: Mapping[str, Path] = {"tiny-addition": Path(__file__).parent / "models" / "tiny_addition"}
GGUF_MODELS: Mapping[str, gguf_models.GgufModel] = {smollm2.MODEL.name: smollm2.MODEL}


def model_folders(
    arguments: Iterable[str], *, cache: Path | None = None, weights: Path | None = None
) -> dict[str, Path]:
    """Turn `NAME=DIR`, `DIR`, a known name or `NAME=KNOWN`, one an argument, into folders by name.

    Args:
        arguments: What the user named.
        cache: Where published models are kept once converted; None for the user's cache.
        weights: The user's copy of the file of the one published model that is named.

    Returns:
        Absolute folders by model name, in the order given; a bare `DIR` is named after its last part.

    Raises:
        AuditError: If a folder holds no model, two arguments claim one name, or a published model cannot be had.
    """
    split = [_name_and_place(argument) for argument in arguments]
    published = [place for _, place in split if place in GGUF_MODELS]
    if weights is not None and len(set(published)) != 1:
        raise AuditError(
            f"--weights {weights}: name the one model that it belongs to: --model {next(iter(GGUF_MODELS))}"
        )
    folders: dict[str, Path] = {}
    for name, place in split:
        if name in folders:
            raise AuditError(f"--model {name}: the name is taken; write NAME={place} to choose another.")
        if place in GGUF_MODELS:
            folder = gguf_models.ready_folder(GGUF_MODELS[place], cache or cache_root(), weights)
        else:
            folder = SHIPPED_MODELS.get(place, Path(place))
        folders[name] = _checked(place, folder)
    return folders


def known_names() -> str:
    """Return the names that need no folder, for a sentence."""
    return ", ".join([*SHIPPED_MODELS, *GGUF_MODELS])


def _name_and_place(argument: str) -> tuple[str, str]:
    name, separator, place = argument.partition("=")
    if separator:
        return name, place
    if argument in SHIPPED_MODELS or argument in GGUF_MODELS:
        return argument, argument
    return Path(argument).resolve().name, argument


def _checked(place: str, folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise AuditError(
            f"--model {place}: no config.json in {folder}. Give a Hugging Face model folder, "
            f"as DIR or NAME=DIR, or a known name ({known_names()})."
        )
    return folder.resolve()
