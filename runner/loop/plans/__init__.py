"""The plans that the project ships: the file's name is the plan's id; there is no list to edit."""

from pathlib import Path

from analysis.errors import AuditError
from analysis.nearest import hint
from audits.store.seal import read_text

_FOLDER = Path(__file__).parent


def shipped_plans() -> dict[str, Path]:
    """Return the shipped plans by id."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.json"))}


def plan_text(name: str) -> str:
    """Return the text of a plan file or of the shipped plan with this id; a file wins, a folder of that name does not.

    Raises:
        AuditError: there is neither, or it is not readable.
    """
    path = Path(name)
    is_path = path.is_file() or (path.exists() and name not in shipped_plans())
    return read_text(path) if is_path else shipped_plan_text(name)


def shipped_plan_text(plan_id: str) -> str:
    """Return the text of the shipped plan with this id, whatever stands in the working directory.

    Raises:
        AuditError: there is no such plan; the message names the nearest one.
    """
    shipped = shipped_plans()
    if plan_id not in shipped:
        raise AuditError(f"{plan_id}: neither a plan file nor a shipped plan{hint(plan_id, list(shipped))}")
    return read_text(shipped[plan_id])
