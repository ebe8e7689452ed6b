"""Which base models a service offers: the shipped one, and any Hugging Face folder that is named."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from analysis.errors import AuditError

SHIPPED_MODELS: Mapping[str, Path] = {"tiny-addition": Path(__file__).parent / "models" / "tiny_addition"}


def model_folders(arguments: Iterable[str]) -> dict[str, Path]:
    """Turn `NAME=DIR`, `DIR` or a shipped name, one an argument, into folders by name.

    Returns:
        Absolute folders by model name, in the order given; a bare `DIR` is named after its last part.

    Raises:
        AuditError: If a folder holds no model, or two arguments claim one name.
    """
    folders: dict[str, Path] = {}
    for argument in arguments:
        name, separator, directory = argument.partition("=")
        if separator:
            folder = Path(directory)
        elif argument in SHIPPED_MODELS:
            folder = SHIPPED_MODELS[argument]
        else:
            folder = Path(argument)
            name = folder.resolve().name
        if name in folders:
            raise AuditError(f"--model {argument}: the name {name!r} is taken; write NAME=DIR to choose another.")
        folders[name] = _checked(argument, folder)
    return folders


def _checked(argument: str, folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        shipped = ", ".join(SHIPPED_MODELS)
        raise AuditError(
            f"--model {argument}: no config.json in {folder}. Give a Hugging Face model folder, "
            f"as DIR or NAME=DIR, or a shipped name ({shipped})."
        )
    return folder.resolve()
