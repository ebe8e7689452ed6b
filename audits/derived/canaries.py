"""Answers that are known to be right or wrong, put to the run's own graders: one row a canary.

Made of the run's own gold answers (at most 1,000 of each source, chosen by a hash): the gold answer in the form that
the grader expects must be right; nothing, the gold number plus one and another item's gold answer must be wrong. `got`
is null where the grader refuses the gold answer. A run whose grader is none of ours has no canaries.
"""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from analysis.answers.number import number_of
from analysis.graders.grade import load_grader
from audits.derived.answers import own_graders
from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_MOST = 1000


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    rows = [
        {"source": source, "grader": grader, **canary}
        for source, grader in sorted(own_graders(run).items())
        for canary in _canaries(grader, _golds(connection, source))
    ]
    kinds = dict.fromkeys(("source", "grader", "kind", "gold", "completion"), pa.string())
    return pa.Table.from_pylist(rows, pa.schema([*kinds.items(), ("expected", pa.bool_()), ("got", pa.bool_())]))


def _golds(connection: "duckdb.DuckDBPyConnection", source: str) -> list[str]:
    found = connection.execute(f"SELECT DISTINCT gold FROM {source} WHERE gold IS NOT NULL").fetchall()
    golds = sorted((gold for (gold,) in found), key=lambda gold: hashlib.sha256(gold.encode()).digest())
    return golds[:_MOST]


def _canaries(grader_id: str, golds: list[str]) -> Iterator[dict[str, Any]]:
    grader = load_grader(grader_id)
    for gold, other in zip(golds, golds[1:] + golds[:1], strict=True):
        number, another = number_of(gold), number_of(other)
        known = [("gold answer", grader.example(gold), True), ("no answer", "", False)]
        if number is not None:
            known.append(("gold plus one", grader.example(str(number + 1)), False))
        if number != another:
            known.append(("another item's gold answer", grader.example(other), False))
        for kind, completion, expected in known:
            try:
                got = grader.grade(completion, "stop", gold).correct
            except ValueError:
                got = None
            yield {"kind": kind, "gold": gold, "completion": completion, "expected": expected, "got": got}


DERIVED = Derived(requires=("evals.gold or rollouts.gold",), derive=derive)
