"""The sha256 by which a rendered prompt is known."""

from collections.abc import Iterable
from hashlib import sha256


def token_ids_sha256(token_ids: Iterable[int]) -> str:
    """Return the sha256 of token ids, written as a JSON array without spaces."""
    return sha256(f"[{','.join(map(str, token_ids))}]".encode("ascii")).hexdigest()
