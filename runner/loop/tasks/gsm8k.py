"""GSM8K as tinker-cookbook trains on it: its `MathEnv` asks and rewards, its order of the train split is kept.

The prompt is the cookbook's one-shot conversation. The reward is `0.1 * (format - 1) + correct`: `correct` compares the
last box with the gold answer (the cookbook's sympy grader), `format` asks for a box and for the renderer's stop
sequence. It is what training sees, and another measure than an evaluation's score by the plan's grader.

The validation split is held out of the official train split by a hash of the question; test is the official test split.
Source: tinker-cookbook 0.5.8, recipes/math_rl/math_env.py and math_grading.py.
"""

from collections.abc import Coroutine, Sequence
from hashlib import sha256
from typing import Any

from analysis.errors import AuditError
from analysis.graders.grade import Grade
from analysis.plan.model import Dataset, Task
from runner.loop.dataset_rows import Row, dataset_rows, shuffled_as_the_hub_does
from runner.loop.task import Completion, Message, Problem, Split

SHUFFLE_SEED = 0
"""The cookbook's default seed of the train split's order."""


def problems(task: Task, dataset: Dataset | None) -> list[Problem]:
    """Return the train items in the cookbook's order, then the validation items, then the official test items.

    Raises:
        AuditError: the plan names no data set or asks for more items than there are, or the data cannot be had.
    """
    if dataset is None:
        raise AuditError(
            'dataset: task \'gsm8k\' needs it: {"name": "gsm8k", "hf_path": "openai/gsm8k", "config": "main"}'
        )
    official = [_problem("train", number, row) for number, row in enumerate(dataset_rows(dataset, "train"))]
    order = shuffled_as_the_hub_does(len(official), SHUFFLE_SEED)
    shuffled = [official[index] for index in order]
    held_out = sorted(shuffled, key=_place)[: task.validation_items]
    kept_out = {problem.question for problem in held_out}
    train = [problem for problem in shuffled if problem.question not in kept_out]
    validation = [
        Problem(_id("validation", problem.question), "validation", problem.question, problem.gold)
        for problem in held_out
    ]
    test = [_problem("test", number, row) for number, row in enumerate(dataset_rows(dataset, "test"))]
    chosen = [
        *_first(train, "train", task.train_items),
        *_first(validation, "validation", task.validation_items),
        *_first(test, "test", task.test_items),
    ]
    _require_distinct(chosen)
    return chosen


def messages(question: str) -> list[Message]:
    """Return the cookbook's one-shot conversation with the question as its last turn."""
    env = _math_env()
    return [
        *env.standard_fewshot_prefix(),
        {"role": "user", "content": env(problem=question, answer="", renderer=None).get_question()},
    ]


def grade(problem: Problem, completion: Completion, chat: Any) -> Grade:
    """Return the cookbook's reward of a completion: 1.0, 0.9, 0.0 or -0.1.

    Args:
        problem: its gold answer is a number.
        completion: its tokens say whether the stop sequence ended it.
        chat: the cookbook's renderer of the prompt.
    """
    from tinker_cookbook.renderers import get_text_content

    math_env = _math_env()
    env = math_env(
        problem.question, problem.gold, chat, convo_prefix=math_env.standard_fewshot_prefix(), grader="sympy"
    )
    tokens = list(completion.token_ids)
    result = _finished(env.step(tokens))
    message, _ = chat.parse_response(tokens)
    content = get_text_content(message)
    extracted, extraction = _extract(content)
    if env.check_format(content) and not result.metrics["format"]:
        extraction += ", no_stop_sequence"
    return Grade(float(result.reward), bool(result.metrics["correct"]), extracted, extraction)


def _extract(content: str) -> tuple[str | None, str]:
    """Return the answer that the cookbook compares, and how it found it or why it found none."""
    from tinker_cookbook.recipes.math_rl.math_grading import extract_boxed

    try:
        extracted = str(extract_boxed(content))
    except ValueError as error:
        return None, {"Unmatched }": "unmatched_brace"}.get(str(error), "no_box")
    return extracted, "last_box" if f"\\boxed{{{extracted}}}" in content else "box_without_braces"


def _finished(step: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing; unlike an event loop this works inside another one and in any thread."""
    try:
        step.send(None)
    except StopIteration as done:
        return done.value
    step.close()
    raise RuntimeError("tinker-cookbook's MathEnv.step waits for something; this task was written for 0.5.8")


def _problem(split: Split, number: int, row: Row) -> Problem:
    question, answer = row.get("question"), row.get("answer")
    if not isinstance(question, str) or not isinstance(answer, str):
        raise AuditError(f"dataset, split {split!r}, row {number}: `question` and `answer` must both be text")
    try:
        gold = _final_answer(answer)
    except ValueError as error:
        raise AuditError(
            f"dataset, split {split!r}, row {number}: `answer` has no line with `####` ({error})"
        ) from error
    return Problem(_id(split, question), split, question, gold)


def _final_answer(answer: str) -> str:
    _math_env()
    from tinker_cookbook.recipes.math_rl.math_env import extract_gsm8k_final_answer

    return str(extract_gsm8k_final_answer(answer))


def _id(split: Split, question: str) -> str:
    """Name an item by its text, so that runs which read it from different sources pair the same items."""
    return f"gsm8k/{split}/{sha256(question.encode('utf-8')).hexdigest()[:16]}"


def _place(problem: Problem) -> bytes:
    return sha256(f"validation:{problem.question}".encode()).digest()


def _first(found: Sequence[Problem], split: Split, count: int | None) -> Sequence[Problem]:
    if count is not None and count > len(found):
        raise AuditError(f"task.{split}_items is {count}, but the data set has only {len(found)} {split} items")
    return found[:count]


def _require_distinct(chosen: Sequence[Problem]) -> None:
    seen: dict[str, Split] = {}
    for problem in chosen:
        if problem.question in seen and (seen[problem.question], problem.split) != ("train", "train"):
            raise AuditError(
                f"dataset: the question of {problem.prompt_id} stands in the {seen[problem.question]} split too, so it "
                "would be scored on what it was trained on, or counted twice. Remove one of them from the files"
            )
        seen[problem.question] = problem.split


def _math_env() -> Any:
    try:
        from tinker_cookbook.recipes.math_rl.math_env import MathEnv
    except ImportError as error:
        raise AuditError(
            f"task 'gsm8k' needs tinker-cookbook with its math-rl extra ({error}). "
            "Install both: pip install 'runaudit[train]'"
        ) from None
    return MathEnv
