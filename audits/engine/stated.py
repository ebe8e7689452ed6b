"""A setting as the run states it: what ran stands before what was planned."""

from collections.abc import Mapping
from typing import Any

from audits.store.manifest import ArmRecord
from audits.store.reader import Run


def stated_setting(run: Run, path: str, arm: ArmRecord | None = None) -> Any:
    """Return a setting by the plan's path, None where nothing states it.

    The first that states it is taken: the arm's own settings, `executed` of `run.json` (nested like the plan, or with
    the whole path as key), the sealed plan, `planned` of `run.json`. A block of settings has no path, its values have.

    Args:
        run: the run.
        path: as in `evaluation.max_tokens`.
        arm: whose own settings come first.
    """
    manifest = run.manifest
    plan = run.sealed.plan.model_dump() if run.sealed else {}
    for source in (arm.settings if arm else {}, manifest.executed, plan, manifest.planned):
        found = flatten(source).get(path)
        if found is not None:
            return found
    return None


def flatten(block: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested blocks by path (`rollout.group_size`); an empty block is a value.

    Where a key is itself a whole path, its value stands before that of a nested block.
    """
    nested = {key: value for key, value in block.items() if isinstance(value, dict) and value}
    found: dict[str, Any] = {}
    for key, value in nested.items():
        found |= flatten(value, f"{prefix}{key}.")
    return found | {f"{prefix}{key}": value for key, value in block.items() if key not in nested}
