"""The plans that the project ships: the file's name is the plan's id; there is no list to edit."""

from pathlib import Path

_FOLDER = Path(__file__).parent


def shipped_plans() -> dict[str, Path]:
    """Return the shipped plans by id."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.json"))}
