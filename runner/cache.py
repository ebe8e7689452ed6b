"""Where this machine keeps what can be made again and takes long to make: nothing that a result depends on."""

import os
from collections.abc import Mapping
from pathlib import Path

CACHE_VARIABLE = "RUNAUDIT_CACHE"


def cache_root(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the cache: $RUNAUDIT_CACHE, else `runaudit` below $XDG_CACHE_HOME, else below ~/.cache."""
    if chosen := environment.get(CACHE_VARIABLE):
        return Path(chosen)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "runaudit"
