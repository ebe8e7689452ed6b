"""The script that makes a page's charts answer to the pointer: the same for every page, and slow to put together.

It is a function of the installed vl-convert alone, so it is kept in the cache under that version. With or without the
cache a page has the same bytes.
"""

import hashlib
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from reports.vega import javascript_bundle


def kept_script(root: Path) -> str | None:
    """Return the script from the cache; None where it is not there, or is not what was written.

    Args:
        root: the cache (`runner.cache.cache_root`).
    """
    try:
        digest, _, script = _place(root).read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if digest == _digest(script) else None


def made_script(root: Path) -> str:
    """Put the script together, and keep it where the cache can be written.

    Args:
        root: the cache.
    """
    from audits.store.durable import write_whole

    script = javascript_bundle()
    # A home that cannot be written costs the next report a second, and no more.
    with suppress(OSError):
        _place(root).parent.mkdir(parents=True, exist_ok=True)
        write_whole(_place(root), f"{_digest(script)}\n{script}".encode())
    return script


def _place(root: Path) -> Path:
    return root / "scripts" / f"vega-vl-convert-{version('vl-convert-python')}.js"


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()
