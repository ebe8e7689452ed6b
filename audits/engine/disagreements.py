"""Items by who is right, and both arms' answers to the ones that are kept, side by side."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any, Literal

from analysis.paired.mcnemar import mcnemar_exact
from audits.engine.outcomes import arm_name, arms_of_role
from audits.engine.passes import pass_text
from audits.store.reader import Run, connect
from audits.store.scan import sql_text

if TYPE_CHECKING:
    import duckdb

HEAD, TAIL = 200, 400
"""Characters that are kept of the beginning and of the end of a longer text."""

KEPT_DISCORDANT, KEPT_CONCORDANT = 100, 6
"""Items kept of a cell in which the arms differ, and of one in which they do not."""

Cell = Literal["only_treatment", "only_baseline", "both", "neither", "alike"]
_ROLES = ("treatment", "baseline")
# `audit sql` knows no table that was never logged, and the query must be one that it takes.
_NO_PROMPTS = "(SELECT NULL::VARCHAR AS prompt_id, NULL::VARCHAR AS question, NULL::VARCHAR AS gold)"
_TEXTS = ("question", "gold", *(f"{role}_{name}" for role in _ROLES for name in ("extracted", "completion")))
_PLAIN = tuple(f"{role}_{name}" for role in _ROLES for name in ("extraction", "stop_reason", "tokens"))


@dataclass(frozen=True)
class LongText:
    """A text of which the beginning and the end are kept; `left_out` characters stood between them."""

    head: str
    tail: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Answer:
    """One arm's answer to one item; what was not logged, or is withheld, is None.

    Attributes:
        score: the arm's score of the item, as the decision rule takes it.
        samples: how many samples over all seeds the score is the mean of; what follows is of the first one.
    """

    score: float
    samples: int
    extracted: LongText | None
    extraction: str | None
    stop_reason: str | None
    n_tokens: int | None
    completion: LongText | None


@dataclass(frozen=True)
class ItemPair:
    """Both answers to one item."""

    item_id: str
    cell: Cell
    question: LongText | None
    gold: LongText | None
    treatment: Answer
    baseline: Answer


@dataclass(frozen=True)
class Disagreements:
    """Items by who is right.

    Attributes:
        treatment: the treatment's name.
        baseline: the baseline's name.
        seeds: training seeds whose mean a score is.
        most_samples: largest number of samples that a score is the mean of.
        counts: items in each cell. Where scores are right or wrong: `only_treatment`, `only_baseline`, `both`,
            `neither`. Elsewhere the first two hold the items on which that arm scores higher, and `alike` the others.
        mcnemar_exact: two-sided exact p-value of equal chances; None where scores are not right or wrong.
        items: the kept items, cell by cell, by the md5 of their id: an order that no outcome moves, so that the first
            of a cell are a fair choice of it.
        sql: a query that lists all of them.
    """

    treatment: str
    baseline: str
    seeds: tuple[int, ...]
    most_samples: int
    counts: Mapping[Cell, int]
    mcnemar_exact: float | None
    items: tuple[ItemPair, ...]
    sql: str

    @property
    def right_or_wrong(self) -> bool:
        """Whether every score is 0 or 1."""
        return self.mcnemar_exact is not None

    @property
    def n_items(self) -> int:
        """All items."""
        return sum(self.counts.values())


def disagreements(run: Run, *, texts: bool = True) -> Disagreements | None:
    """Return the items by who is right, from the final evaluations of treatment and baseline.

    Args:
        run: the run.
        texts: whether questions, gold answers, completions and what was extracted from them are read.

    Returns:
        None where the run has not exactly one arm of each role, or no item that both have answered.

    Raises:
        AuditError: a file of the run is damaged.
    """
    arms = [arms_of_role(run, role) for role in _ROLES]
    if any(len(found) != 1 for found in arms) or not run.has("evals"):
        return None
    treatment, baseline = (found[0] for found in arms)
    seeds = run.sealed.plan.decision_rule.seeds if run.sealed is not None else None
    sql = pass_text("paired_answers").format(
        treatment=sql_text(treatment),
        baseline=sql_text(baseline),
        prompts="prompts" if run.has("prompts") else _NO_PROMPTS,
        seeds="true" if seeds is None else f"seed IN ({', '.join(str(seed) for seed in seeds)})",
    )
    with connect(run) as connection:
        scores = connection.execute(
            f"SELECT item_id, treatment_score, baseline_score, greatest(treatment_samples, baseline_samples) "
            f"FROM ({sql}) WHERE treatment_score IS NOT NULL AND baseline_score IS NOT NULL"
        ).fetchall()
        if not scores:
            return None
        cells = _cells(scores)
        kept = {item: cell for cell, items in cells.items() for item in _kept(cell, items)}
        rows = _rows(connection, sql, list(kept), texts)
        evaluated = connection.execute(
            "SELECT DISTINCT seed FROM evals WHERE checkpoint = 'final' AND arm IN (?, ?) ORDER BY seed",
            [treatment, baseline],
        ).fetchall()
    counts = {cell: len(items) for cell, items in cells.items()}
    by_id = {row["item_id"]: row for row in rows}
    return Disagreements(
        treatment=arm_name(run, treatment),
        baseline=arm_name(run, baseline),
        seeds=tuple(seed for (seed,) in evaluated if seeds is None or seed in seeds),
        most_samples=max(int(samples) for *_, samples in scores),
        counts=counts,
        mcnemar_exact=None if "alike" in counts else mcnemar_exact(counts["only_treatment"], counts["only_baseline"]),
        items=tuple(_pair(by_id[item], cell) for item, cell in kept.items()),
        sql=sql,
    )


def _cells(scores: Sequence[tuple[str, float, float, int]]) -> dict[Cell, list[str]]:
    """Return the ids of the items of each cell."""
    right_or_wrong = all({treatment, baseline} <= {0.0, 1.0} for _, treatment, baseline, _ in scores)
    agreeing: tuple[Cell, ...] = ("both", "neither") if right_or_wrong else ("alike",)
    cells: dict[Cell, list[str]] = {"only_treatment": [], "only_baseline": [], **{cell: [] for cell in agreeing}}
    for item_id, treatment, baseline, _ in scores:
        # Means of the same scores in another order may differ in the last bit.
        if not isclose(treatment, baseline, abs_tol=1e-9):
            cell: Cell = "only_treatment" if treatment > baseline else "only_baseline"
        else:
            cell = "alike" if not right_or_wrong else "both" if treatment == 1.0 else "neither"
        cells[cell].append(item_id)
    return cells


def _kept(cell: Cell, items: Sequence[str]) -> list[str]:
    most = KEPT_DISCORDANT if cell.startswith("only") else KEPT_CONCORDANT
    return sorted(items, key=lambda item: hashlib.md5(item.encode(), usedforsecurity=False).digest())[:most]


def _rows(connection: "duckdb.DuckDBPyConnection", sql: str, items: Sequence[str], texts: bool) -> list[dict[str, Any]]:
    """Return the rows of these items; of a long text the engine hands over no more than is kept."""
    cut = [
        f"CASE WHEN length({name}) > {HEAD + TAIL} THEN left({name}, {HEAD}) ELSE {name} END AS {name}, "
        f"CASE WHEN length({name}) > {HEAD + TAIL} THEN right({name}, {TAIL}) END AS {name}_tail, "
        f"length({name}) AS {name}_length"
        for name in (_TEXTS if texts else ())
    ]
    plain = [f"{role}_{name}" for role in _ROLES for name in ("score", "samples")]
    columns = ", ".join(["item_id", *plain, *_PLAIN, *cut])
    found = connection.execute(f"SELECT {columns} FROM ({sql}) WHERE list_contains(?, item_id)", [list(items)])
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _pair(row: Mapping[str, Any], cell: Cell) -> ItemPair:
    return ItemPair(
        item_id=row["item_id"],
        cell=cell,
        question=_text(row, "question"),
        gold=_text(row, "gold"),
        treatment=_answer(row, "treatment"),
        baseline=_answer(row, "baseline"),
    )


def _answer(row: Mapping[str, Any], role: str) -> Answer:
    return Answer(
        score=row[f"{role}_score"],
        samples=int(row[f"{role}_samples"]),
        extracted=_text(row, f"{role}_extracted"),
        extraction=row[f"{role}_extraction"],
        stop_reason=row[f"{role}_stop_reason"],
        n_tokens=row[f"{role}_tokens"],
        completion=_text(row, f"{role}_completion"),
    )


def _text(row: Mapping[str, Any], name: str) -> LongText | None:
    head = row.get(name)
    if head is None:
        return None
    tail = row[f"{name}_tail"] or ""
    return LongText(head, tail, row[f"{name}_length"] - len(head) - len(tail) if tail else 0)
