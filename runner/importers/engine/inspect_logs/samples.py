"""The samples of an Inspect log as rows of evaluations and prompts."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from analysis.errors import AuditError
from audits.store.gathered import Prompts, Rows
from runner.importers.engine.checks import short
from runner.importers.engine.inspect_logs.messages import question_of, text_of
from runner.importers.engine.inspect_logs.scores import ScoreChoice, number_of
from runner.importers.engine.record import Record

MOST_EPOCHS = 1 << 15
_USED = {"id", "epoch", "input", "target", "output", "scores", "error", "messages", "limit", "error_retries"}
_LEFT_OUT = {
    "choices", "description", "sandbox", "files", "setup", "metadata", "store", "events", "events_data", "transcript",
    "timelines", "model_usage", "role_usage", "model_fallbacks", "started_at", "completed_at", "total_time",
    "working_time", "uuid", "invalidation", "attachments", "turn_count", "token_limit",
    "token_limit_type", "token_limit_usage", "message_limit", "time_limit",
}  # fmt: skip


@dataclass
class Samples:
    """What is gathered of all samples."""

    choice: ScoreChoice
    prompts: Prompts
    evals: Rows
    texts: dict[str, str] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    told: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, *, when: object = True) -> None:
        """Count a sample of which something must be told."""
        if when:
            self.told[what] = self.told.get(what, 0) + 1


def append(sample: Record, found: Samples) -> None:
    """Gather a sample's row, and its prompt where it has a question and a target.

    Raises:
        AuditError: a value is not what it should be; the sample is named.
    """
    item, epoch = item_of(sample), sample.whole("epoch", least=1, most=MOST_EPOCHS)
    found.seen.add((item, epoch))
    found.unknown |= sample.beyond(_USED | _LEFT_OUT)
    found.left_out |= _LEFT_OUT & set(sample.values)
    found.count("were run again after an error", when=sample.values.get("error_retries"))
    gold = _gold(sample, found)
    graded, error = _graded(sample, found)
    prompt_id = _prompt(sample, item, gold, found)
    found.evals.append(
        {
            "checkpoint": "final",
            "item_id": item,
            "sample": epoch - 1,
            "gold": gold,
            "prompt_id": prompt_id,
            "error": error,
            **graded,
            **_output(sample, found),
        }
    )


def item_of(sample: Record) -> str:
    """Return a sample's id, a text or a whole number, as a text."""
    value = sample.values.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return sample.text("id")


def _graded(sample: Record, found: Samples) -> tuple[dict[str, Any], str | None]:
    """Return the columns of a score, and else why there is none."""
    score = found.choice.of(sample)
    number = number_of(score) if score is not None else None
    found.count("have a score that was edited later", when=score is not None and score.values.get("history"))
    columns: dict[str, Any] = {"extracted": score.text_or_none("answer") if score is not None else None}
    if sample.values.get("error") is not None:
        found.count("failed with an error", when=number is None)
        found.count("failed with an error and have a score all the same: the score was not taken", when=number)
        return columns, f"error: {short(sample.part('error').text('message')) or 'without a message'}"
    if score is None:
        found.count("have no score and no error")
        return columns, "not scored: the log has no score of this sample"
    if number is None:
        found.count("could not be scored")
        return columns, f"not scored: {short(str(score.values.get('reason') or 'the scorer gave no value'))}"
    return {**columns, "score": number[0], "correct": number[1]}, None


def _output(sample: Record, found: Samples) -> dict[str, Any]:
    """Return what the last output was; nothing of a sample that never came to one."""
    output = sample.part_or_empty("output")
    choices = list(output.parts("choices")) if output.values.get("choices") else []
    messages = sample.parts("messages") if sample.values.get("messages") else ()
    turns = sum(message.values.get("role") == "assistant" for message in messages)
    found.count("took several turns: completion and tokens are those of the last", when=turns > 1)
    limit = sample.part("limit").text("type") if sample.values.get("limit") else ""
    found.count(f"were stopped by the limit {short(limit)!r}", when=limit)
    found.count("have several choices: the first is taken, and the tokens are of all", when=choices[1:])
    if not choices:
        return {}
    usage = output.part_or_empty("usage")
    return {
        "completion": text_of(choices[0].part("message")),
        "stop_reason": choices[0].text_or_none("stop_reason"),
        "n_tokens": usage.whole_or_none("output_tokens") if len(choices) == 1 else None,
    }


def _gold(sample: Record, found: Samples) -> str | None:
    """Return the target; several are one text between line ends, as any of them is right."""
    target = sample.values.get("target")
    if not isinstance(target, list):
        return sample.text_or_none("target") or None
    found.count("have several targets: the gold answer has one a line", when=len(target) > 1)
    texts = [Record({"target": entry}, sample.where).text("target") for entry in target]
    return "\n".join(texts) or None


def _prompt(sample: Record, item: str, gold: str | None, found: Samples) -> str | None:
    question = question_of(sample)
    if question is None:
        return None
    digest = sha256(question.encode()).hexdigest()[:16]
    text = found.texts.setdefault(item, f"{short(question)} ({digest})")
    if text != f"{short(question)} ({digest})":
        raise AuditError(f"{sample.where}: sample {short(item)} has another input here than in another epoch")
    if gold is None:
        found.count("have no target: of these no prompt was made")
        return None
    prompt_id = f"inspect/{sha256(f'{item}{chr(0)}{question}{chr(0)}{gold}'.encode()).hexdigest()[:16]}"
    found.prompts.add({"prompt_id": prompt_id, "split": "test", "question": question, "gold": gold}, sample.where)
    return prompt_id
