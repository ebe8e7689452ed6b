"""The faults that a client can mend, as opposed to our bugs."""


class UserFault(Exception):
    """A request that cannot be served as sent.

    Before an operation is queued it becomes a 4xx answer, later the error of the operation's future. 408, 409
    and 429 must not be used for it: the SDK repeats those for five minutes.
    """

    def __init__(self, message: str, *, status: int = 422) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def unknown(what: str, name: str, known: str = "") -> UserFault:
    """Return the fault for an identifier that this service does not know, with the known ones if given."""
    hint = f"; known: {known}" if known else ""
    return UserFault(f"unknown {what} {name!r}{hint}", status=404)
