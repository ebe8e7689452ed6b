"""The errors that a person can act on.

    AuditError            2: usage, configuration, unreadable input, nothing to audit
    ├── NothingToCompare  2: outcomes are there, but not the arms that a rule weighs
    └── Refused           4: the input is fine, but the plan's rules forbid to go on

Any other exception is our bug: the command line prints its traceback and exits with 3.
"""


class AuditError(Exception):
    """Something in the input is wrong: what, where, and what to do next, in one message."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NothingToCompare(AuditError):
    """The run has outcomes, and no arm for a role of the rule, or several: audits can be asked, a verdict cannot."""


class Refused(AuditError):
    """The rules of the sealed plan forbid this step, for example a full run without a passed pilot."""

    exit_code = 4
