"""A module that stands beside its data and is in no package: a sample, or what writes one."""

import importlib.util
from pathlib import Path
from types import ModuleType


def loaded_module(path: Path) -> ModuleType:
    """Run a Python file and return it as a module."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
