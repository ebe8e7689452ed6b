"""What a lint says about itself and about a plan."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warn", "note"]
Reads = Literal["fields", "prose"]

HEURISTIC = "from prose (heuristic)"


@dataclass(frozen=True)
class LintInfo:
    """What a reader must know about a lint.

    Attributes:
        severity: `error` blocks a full run, `warn` deserves a decision, `note` is good to know.
        formats: the plan formats that it reads.
        reads: `fields`, or `prose` where its findings rest on matching words.
    """

    severity: Severity
    formats: tuple[int, ...]
    reads: Reads = "fields"


@dataclass(frozen=True)
class Finding:
    """One thing that a lint found.

    Attributes:
        path: the key that it is about, such as `losses.dppo.delta`.
        message: what is the matter.
        mend: what to do about it.
        severity: the lint's own where None.
        reads: the lint's own where None; a message that rests on prose says so.
        lint: the id, filled in by `analysis.plan.lint`.
    """

    path: str
    message: str
    mend: str
    severity: Severity | None = None
    reads: Reads | None = None
    lint: str = ""
