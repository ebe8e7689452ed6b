"""What the plan demands of generated training data beside what was found: one row a demand.

Found is what `executed.generation_audit` of run.json records of the check: `sample_size`, `label_errors`,
`eval_overlaps` (numbers) and `answer_comparison`. Overlaps are counted in the logs as well where they have the prompts
(evaluated items whose normalised question is a training prompt's), and the larger number is taken. `value` is null
where nothing usable is recorded.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from audits.derived import evaluated_items, training_prompts
from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_NAMED = "SELECT count(prompt_id) FROM evals"


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table: demand, value (what was found, as text), number, least, most, wanted, source."""
    import pyarrow as pa

    rows = _rows(run, connection)
    types = {
        "demand": pa.string(), "value": pa.string(), "number": pa.float64(),
        "least": pa.float64(), "most": pa.float64(), "wanted": pa.string(), "source": pa.string(),
    }  # fmt: skip
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


DERIVED = Derived(requires=(), derive=derive)


def _rows(run: Run, connection: "duckdb.DuckDBPyConnection") -> list[dict[str, Any]]:
    wanted = run.sealed.plan.generation_audit if run.sealed else None
    if wanted is None:
        return []
    stated = run.manifest.executed.get("generation_audit")
    record: Mapping[str, Any] = stated if isinstance(stated, dict) else {}
    comparison = record.get("answer_comparison")
    found = comparison if isinstance(comparison, str) else None
    overlaps, counted = _count(record.get("eval_overlaps")), _counted_overlaps(run, connection)
    larger = max((number for number in (overlaps, counted) if number is not None), default=None)
    source = "logs" if counted is not None and larger == counted else "run.json"
    return [
        _row("sample_size", _count(record.get("sample_size")), least=wanted.min_sample_size),
        _row("label_errors", _count(record.get("label_errors")), most=wanted.max_label_errors),
        _row("eval_overlaps", larger, most=wanted.max_eval_overlaps, source=source),
        _row("answer_comparison", None, value=found, wanted=wanted.answer_comparison),
    ]


def _row(demand: str, number: float | None, **others: Any) -> dict[str, Any]:
    value = None if number is None else f"{number:g}"
    empty = {"least": None, "most": None, "wanted": None, "source": "run.json"}
    return {"demand": demand, "number": number, "value": value} | empty | others


def _count(value: object) -> float | None:
    """Return a count, None where it is none: a word such as "unresolved", a negative number, NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 2**53 and math.isfinite(value) else None


def _counted_overlaps(run: Run, connection: "duckdb.DuckDBPyConnection") -> float | None:
    """Return how many evaluated items repeat a training prompt, None where the logs have no pair to compare."""
    if not run.has("prompts") or not connection.execute(_NAMED).fetchall()[0][0]:
        return None
    trained = set(training_prompts.derive(run, connection).column("normalised").to_pylist()) - {""}
    items = evaluated_items.derive(run, connection).select(["item_id", "normalised"]).to_pylist()
    if not trained or not items:
        return None
    return float(len({row["item_id"] for row in items if row["normalised"] in trained}))
