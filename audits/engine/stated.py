"""A setting as the run states it: what ran stands before what was planned."""

from collections.abc import Mapping
from typing import Any

from audits.store.manifest import ArmRecord
from audits.store.reader import Run


def stated_setting(run: Run, path: str, arm: ArmRecord | None = None) -> Any:
    """Return a setting by the plan's path, None where nothing states it.

    The first that states it is taken: the arm's own settings, `executed` of `run.json` (nested like the plan, or with
    the whole path as key), the sealed plan, `planned` of `run.json`.

    Args:
        run: the run.
        path: as in `evaluation.max_tokens`.
        arm: whose own settings come first.
    """
    manifest = run.manifest
    plan = run.sealed.plan.model_dump() if run.sealed else {}
    for source in (arm.settings if arm else {}, manifest.executed, plan, manifest.planned):
        found = source[path] if path in source else _nested(source, path)
        if found is not None:
            return found
    return None


def _nested(source: Mapping[str, Any], path: str) -> Any:
    found: Any = source
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
