"""What each stored completion answers: every way to extract an answer, and the run's own grader, beside its record.

One row a completion that has a gold answer; `source` is evals or rollouts, `id` the item's or the rollout's.
`recorded` is the label: `correct` (or a score of exactly 0 or 1), of a rollout a reward of at least 0.5 (right, as
tinker-cookbook counts a group as good) or at most 0 (wrong); null between. For each way of `analysis.answers`,
`answer_by_<way>` is the text that it finds (its first 200 characters) and `right_by_<way>` whether that is the gold
number, null where it is no number.

`own_way` is how the run says that it grades, null where it does not say: the plan's grader for evaluations, the
task's for rollouts where that is one of `analysis.graders`, else the one way of ours that its column `extraction`
names. `own_right`, `own_extracted` and `own_score` are what it gives today; the last two for graders alone.
`strict_right` is `own_right`, or without it whether a strict way finds the gold number. `is_judged`: there is a label,
a gold number, and nothing that the run's own way needs is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from analysis.answers.extraction import extractors
from analysis.answers.extractors.last_number import numbers_in
from analysis.answers.number import number_of
from analysis.graders.grade import Grade, Grader, grader_ids, load_grader
from audits.engine.derived import Derived
from audits.store.reader import Run
from audits.store.schema import SQL_FOLDER

if TYPE_CHECKING:
    import duckdb

TASK_GRADERS = {"addition": "numeric_exact", "addition_chat": "last_integer"}
"""Grader of a task's training completions, for the tasks that use one of `analysis.graders`."""

_ROWS = 1 << 14
_KEPT = 200
_COPIED = ("source", "arm", "seed", "checkpoint", "step", "id", "sample", "gold", "stop_reason", "recorded_extraction",
           "recorded_extracted", "recorded_score", "recorded")  # fmt: skip


@dataclass(frozen=True)
class _Answers:
    """What the ways find in one completion: text and number by way."""

    texts: Mapping[str, str | None]
    numbers: Mapping[str, Fraction | None]
    unread: tuple[str, ...]


def own_graders(run: Run) -> dict[str, str]:
    """Return the grader of `analysis.graders` that the run's plan names, by source: evals, rollouts."""
    if run.sealed is None:
        return {}
    plan = run.sealed.plan
    named = {
        "evals": plan.evaluation.grader,
        "rollouts": TASK_GRADERS.get(plan.task.id, ""),
    }
    return {source: grader for source, grader in named.items() if grader in grader_ids()}


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    sql = (SQL_FOLDER / "derived" / "completions.sql").read_text(encoding="utf-8")
    graders = own_graders(run)
    ways = {source: graders.get(source) or _stated_way(connection, source) for source in ("evals", "rollouts")}
    numbers = lru_cache(maxsize=1 << 16)(number_of)
    schema = _schema()
    batches = []
    for batch in connection.sql(sql).to_arrow_reader(_ROWS):
        rows = batch.to_pylist()
        found = {text: _answers(text, numbers) for text in {row["completion"] for row in rows}}
        judged = [_judged(row, found[row["completion"]], ways[row["source"]], numbers) for row in rows]
        batches.append(pa.RecordBatch.from_pylist(judged, schema))
    return pa.Table.from_batches(batches, schema)


def _schema() -> Any:
    import pyarrow as pa

    kinds = {
        "source": pa.string(), "arm": pa.string(), "seed": pa.int64(), "checkpoint": pa.string(), "step": pa.int32(),
        "id": pa.string(), "sample": pa.int16(), "gold": pa.string(), "stop_reason": pa.string(),
        "recorded_extraction": pa.string(), "recorded_extracted": pa.string(), "recorded_score": pa.float64(),
        "recorded": pa.bool_(), "gold_is_number": pa.bool_(), "is_judged": pa.bool_(),
    }  # fmt: skip
    for way in extractors():
        kinds |= {f"answer_by_{way.id}": pa.string(), f"right_by_{way.id}": pa.bool_()}
    kinds |= {
        "own_way": pa.string(), "own_extracted": pa.string(), "own_score": pa.float64(), "own_right": pa.bool_(),
        "strict_right": pa.bool_(), "right_by_any": pa.bool_(), "other_strict_number": pa.bool_(),
        "strict_answer_unread": pa.bool_(), "gold_among_several": pa.bool_(), "gold_in_text": pa.bool_(),
        "no_number_found": pa.bool_(), "is_blank": pa.bool_(), "answers": pa.string(), "completion_end": pa.string(),
    }  # fmt: skip
    return pa.schema(list(kinds.items()))


def _stated_way(connection: "duckdb.DuckDBPyConnection", source: str) -> str | None:
    """Return the one way of ours that the log names in its column `extraction`, None where it names none or several."""
    sql = f"SELECT DISTINCT extraction FROM {source} WHERE extraction IS NOT NULL AND completion IS NOT NULL"
    stated = {extraction for (extraction,) in connection.execute(sql).fetchall()}
    named = [way.id for way in extractors() if way.id in stated]
    return named[0] if len(named) == 1 else None


def _answers(completion: str, numbers: Callable[[str], Fraction | None]) -> _Answers:
    texts = {way.id: way.extract(completion)[0] for way in extractors()}
    found = {way: None if text is None else numbers(text) for way, text in texts.items()}
    unread = [texts[way.id] for way in extractors() if way.is_strict and texts[way.id] and found[way.id] is None]
    return _Answers(texts, found, tuple(text for text in unread if text))


def _judged(
    row: Mapping[str, Any], found: _Answers, own_way: str | None, numbers: Callable[[str], Fraction | None]
) -> dict[str, Any]:
    gold = numbers(row["gold"])
    right = {way: None if value is None or gold is None else value == gold for way, value in found.numbers.items()}
    strict = [right[way.id] for way in extractors() if way.is_strict]
    judged = {name: row[name] for name in _COPIED} | _own(row, right, own_way)
    own_missing = judged["own_right"] is None
    strict_right = True in strict if own_missing else judged["own_right"]
    right_by_any = strict_right or True in right.values()
    looked_for = bool(row["recorded"]) and not strict_right and gold is not None
    written = {numbers(text) for text in numbers_in(row["completion"])} if looked_for else set()
    several = {numbers(number) for text in found.unread if "=" not in text for number in numbers_in(text)} - {None}
    return judged | {
        **{f"answer_by_{way}": None if text is None else text[:_KEPT] for way, text in found.texts.items()},
        **{f"right_by_{way}": value for way, value in right.items()},
        "gold_is_number": gold is not None,
        "is_judged": gold is not None and row["recorded"] is not None and (own_way is None or not own_missing),
        "strict_right": strict_right,
        "right_by_any": right_by_any,
        "other_strict_number": False in strict,
        "strict_answer_unread": bool(found.unread),
        "gold_among_several": gold in several and len(several) > 1,
        "gold_in_text": gold in written if looked_for else None,
        "no_number_found": not any(value is not None for value in found.numbers.values()),
        "is_blank": not row["completion"].strip(),
        "answers": "; ".join(f"{way}: {text[:60]}" for way, text in found.texts.items() if text is not None),
        "completion_end": row["completion"][-120:],
    }


def _own(row: Mapping[str, Any], right: Mapping[str, bool | None], own_way: str | None) -> dict[str, Any]:
    """Return what the run's own way gives for a completion; nulls where that cannot be said."""
    if own_way is not None and own_way in right:
        return {"own_way": own_way, "own_extracted": None, "own_score": None, "own_right": right[own_way] is True}
    grade = None if own_way is None else _regraded(load_grader(own_way), row)
    if grade is None:
        return {"own_way": own_way, "own_extracted": None, "own_score": None, "own_right": None}
    return {
        "own_way": own_way,
        "own_extracted": grade.extracted,
        "own_score": grade.reward,
        "own_right": grade.correct,
    }


def _regraded(grader: Grader, row: Mapping[str, Any]) -> Grade | None:
    """Return the grade, None where the gold answer is none or the log does not say how the completion ended."""
    known = row["stop_reason"]
    endings: Sequence[str] = (known,) if known is not None else ("stop", "length")
    try:
        grades = {grader.grade(row["completion"], ending, row["gold"]) for ending in endings}
    except ValueError:
        return None
    return grades.pop() if len(grades) == 1 else None


DERIVED = Derived(requires=("evals.completion or rollouts.completion", "evals.gold or rollouts.gold"), derive=derive)
