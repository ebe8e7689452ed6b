"""What a command asks of a run: figures to measure, and the check that they become."""

from collections.abc import Sequence
from typing import Protocol

from audits.engine.check import Check
from audits.engine.executors import LOCAL, Engine
from audits.engine.measure import Measurement, measure_all
from audits.engine.request import Request
from audits.store.reader import Run


class Ask(Protocol):
    """One check before its figures are measured."""

    @property
    def requests(self) -> tuple[Request, ...]:
        """What has to be measured; nothing where it is clear beforehand that the run cannot answer."""

    def answer(self, found: Sequence[Measurement]) -> Check:
        """Return the check, from one measurement a request."""


def answer_all(run: Run, asks: Sequence[Ask], engine: Engine = LOCAL) -> list[Check]:
    """Measure everything that is asked, with one scan for all that share a scope, and return one check each.

    Raises:
        AuditError: a file of the run is damaged.
    """
    requests = [ask.requests for ask in asks]
    measured = iter(measure_all(run, [request for own in requests for request in own], engine))
    return [ask.answer([next(measured) for _ in own]) for ask, own in zip(asks, requests, strict=True)]
