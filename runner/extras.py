"""What running needs and auditing does not."""

import importlib.util

from analysis.errors import AuditError

_TRAIN_PACKAGES = ("tinker", "torch", "transformers", "safetensors", "gguf", "starlette", "uvicorn")


def require_train_extra() -> None:
    """Check that the packages of the `train` extra are installed, without importing them.

    Raises:
        AuditError: one is missing; the message says what to install.
    """
    missing = [name for name in _TRAIN_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise AuditError(f"this needs {', '.join(missing)}: pip install 'runaudit[train]'. Auditing works without it")
