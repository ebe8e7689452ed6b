"""OpenAI's GSM8K example solutions: one line a question, and in it a solution with its label for each model.

`example_model_solutions.jsonl` of openai/grade-school-math. Every model is an arm, named as the file names it. An item
is known by its place in the file, which is that of the test split (`gsm8k-test-0000` is the first). The gold is the
answer line of `ground_truth`; what a solution answered is left to the audits, as the file has only text and label.
"""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Rows
from audits.store.manifest import ArmRecord
from runner.importers.engine.checks import few
from runner.importers.engine.imported import Imported, ImportedArm, Options
from runner.importers.engine.record import Record
from runner.importers.engine.source_files import json_lines, peek, source_file

ITEM_COLUMN = False
MAPPED = False

_QUESTION = {"question", "ground_truth"}
_SOLUTION = {"solution", "is_correct"}
_ANSWER_LINE = re.compile(r"^A:[ \t]*(\S.*)$", re.MULTILINE)


def sniff(path: Path) -> bool:
    """Return whether the first line holds a question, its truth and at least one labelled solution."""
    first = peek(path) if path.suffix == ".jsonl" else None
    return first is not None and set(first) >= _QUESTION and bool(_models(first))


def read(source: Path, options: Options) -> Imported:
    """Return the solutions, one arm a model.

    Args:
        source: the JSON-lines file.
        options: of them, where rows are gathered.

    Raises:
        AuditError: a line is no question with a solution of each model of the first line, a gold answer is missing,
            or a question stands twice; the line is named.
    """
    models: list[str] = []
    prompts = options.scratch.prompts()
    evals: dict[str, Rows] = {}
    lines_of: dict[str, str] = {}
    unknown: set[str] = set()
    without = 0
    for record in json_lines(source):
        if not models:
            models = _models_of(record)
            evals = {model: options.scratch.rows("evals") for model in models}
        prompt = _prompt(record)
        first = lines_of.setdefault(prompt["prompt_id"], record.where)
        if first != record.where:
            raise AuditError(f"{record.where}: the question stands twice, first in {first}")
        for model in models:
            solution = record.part(model)
            row = _row(f"gsm8k-test-{len(prompts.rows):04d}", prompt, solution)
            evals[model].append(row)
            without += not _ANSWER_LINE.search(row["completion"])
            unknown |= {f"{model}.{key}" for key in solution.beyond(_SOLUTION)}
        prompts.add(prompt, record.where)
        unknown |= record.beyond({*_QUESTION, *models})
    return Imported(
        importer="gsm8k_solutions",
        files=(source_file(source),),
        arms=tuple(_arm(model, rows) for model, rows in evals.items()),
        prompts=prompts.rows,
        mapped=(
            "place in the file -> evals.item_id",
            "solution -> evals.completion",
            "is_correct -> evals.score, correct",
            "answer line of ground_truth -> gold",
            "question -> prompts.question",
        ),
        ignored=(f"keys {few(sorted(unknown))}: not known to this importer",) if unknown else (),
        notes=tuple(_notes(evals, without)),
    )


def _models(values: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, dict) and set(value) >= _SOLUTION]


def _models_of(first: Record) -> list[str]:
    models = _models(first.values)
    if not models:
        raise AuditError(f"{first.where}: no model's solution, an object with `solution` and `is_correct`")
    return models


def _arm(model: str, rows: Rows) -> ImportedArm:
    return ImportedArm(ArmRecord(arm=model, seed=0, role="other", name=model), evals={"final": rows})


def _prompt(record: Record) -> dict[str, str]:
    question = record.text("question")
    answers: list[str] = _ANSWER_LINE.findall(record.text("ground_truth"))
    if not answers:
        raise AuditError(f'{record.where}: "ground_truth" has no answer line (A: …), so there is no gold answer')
    prompt_id = f"gsm8k/test/{sha256(question.encode()).hexdigest()[:16]}"
    return {"prompt_id": prompt_id, "split": "test", "question": question, "gold": answers[-1].strip()}


def _row(item_id: str, prompt: Mapping[str, str], solution: Record) -> dict[str, Any]:
    correct = solution.flag("is_correct")
    return {
        "checkpoint": "final",
        "item_id": item_id,
        "sample": 0,
        "score": float(correct),
        "correct": correct,
        "gold": prompt["gold"],
        "completion": solution.text("solution"),
        "prompt_id": prompt["prompt_id"],
    }


def _notes(evals: Mapping[str, Rows], without: int) -> Iterator[str]:
    if without:
        yield f"{without} of {sum(map(len, evals.values())):,} solutions have no answer line (A: …)"
