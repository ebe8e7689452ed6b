"""The statuses of a check, as they are computed and as a preflight's result holds them."""

from typing import Literal

Status = Literal["pass", "warn", "fail", "inconclusive", "not_applicable", "waived"]
"""`inconclusive`: evidence is missing, which is never a pass."""
