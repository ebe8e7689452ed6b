"""`policy.json`: what a person decided about a run's checks, with reason, owner and expiry."""

import datetime
import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from analysis.errors import AuditError
from audits.store.durable import read_whole

POLICY_NAME = "policy.json"


class Waiver(BaseModel):
    """One check that somebody accepts as it is, until a day.

    Attributes:
        check: id of the check.
        arm: arm of the check; None for a check of no arm.
        status: what is accepted: a failure, or evidence that is missing.
        value: the figure when it was waived; a figure further outside the limit is not covered. None where the check
            has none. A name is covered where it is the same.
        reason: why it is acceptable.
        owner: who says so.
        expires: the last day on which it holds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    check: str = Field(min_length=1)
    arm: str | None = None
    status: Literal["fail", "inconclusive"] = "fail"
    value: FiniteFloat | str | None = None
    reason: str = Field(min_length=1)
    owner: str = Field(min_length=1)
    expires: datetime.date


class _Policy(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    waivers: tuple[Waiver, ...] = ()


def read_waivers(run: Path) -> tuple[Waiver, ...]:
    """Return the waivers of a run's `policy.json`, none where it has no such file.

    Raises:
        AuditError: the file is not readable or a waiver lacks what it needs.
    """
    path = run / POLICY_NAME
    try:
        text = read_whole(path)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: not readable ({error})") from error
    try:
        return _Policy.model_validate(json.loads(text)).waivers
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise AuditError(
            f"{path}: {where}: {first['msg']}. A waiver has check, reason, owner and expires (YYYY-MM-DD), and where "
            "the check has them arm and value"
        ) from error
    except (ValueError, RecursionError) as error:
        raise AuditError(f"{path}: not readable as JSON ({error!s:.300})") from error
