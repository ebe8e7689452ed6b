"""From a problem to the tokens that are sent, and back from sampled tokens to text."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from analysis.errors import AuditError
from analysis.plan.model import Rollout
from analysis.prompt_hash import token_ids_sha256
from runner.loop.task import Message, Problem, TaskModule

PLAIN = "plain"


@dataclass(frozen=True)
class Prompt:
    """A problem as the model sees it."""

    problem: Problem
    rendered: str
    token_ids: tuple[int, ...]
    template_sha256: str

    @property
    def sha256(self) -> str:
        """The sha256 of the token ids, written as a JSON array without spaces."""
        return token_ids_sha256(self.token_ids)


class PromptRenderer:
    """Renders problems for one tokenizer, with the plan's renderer.

    Attributes:
        chat: the cookbook's renderer, None where prompts are plain.
        stop: what ends a completion beside the end token: None, stop strings, or stop token ids.
    """

    def __init__(self, tokenizer: Any, settings: Rollout) -> None:
        self._tokenizer = tokenizer
        self.chat = None if settings.renderer == PLAIN else _chat_renderer(settings.renderer, tokenizer)
        self.stop: list[str] | list[int] | None = self._stop_sequences(settings)

    def render(self, task: TaskModule, problems: Sequence[Problem]) -> list[Prompt]:
        """Return the prompts of the problems, in their order.

        Raises:
            AuditError: the task asks in several turns, and the plan's renderer is plain.
        """
        return [self._render_one(task, problem) for problem in problems]

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, without special tokens."""
        return str(self._tokenizer.decode(list(token_ids), skip_special_tokens=True))

    def _render_one(self, task: TaskModule, problem: Problem) -> Prompt:
        messages = task.messages(problem.question)
        if self.chat is None:
            text = _only_turn(messages)
            token_ids = tuple(self._tokenizer.encode(text, add_special_tokens=False))
        else:
            token_ids = tuple(self.chat.build_generation_prompt(list(messages)).to_ints())
            text = str(self._tokenizer.decode(list(token_ids)))
        template = text.replace(problem.question, "{question}", 1)
        return Prompt(problem, text, token_ids, sha256(template.encode("utf-8")).hexdigest())

    def _stop_sequences(self, settings: Rollout) -> list[str] | list[int] | None:
        if self.chat is None:
            # An empty list would switch the end token off as well.
            return settings.stop or None
        stops = list(self.chat.get_stop_sequences())
        if settings.stop and any(isinstance(stop, int) for stop in stops):
            raise AuditError(
                f"rollout.stop: renderer {settings.renderer!r} stops at token ids, and the service takes ids or "
                "strings, not both. Remove rollout.stop from the plan"
            )
        return [*stops, *settings.stop]


def _only_turn(messages: Sequence[Message]) -> str:
    if len(messages) > 1:
        raise AuditError(
            f"rollout.renderer {PLAIN!r} sends one text, but the task asks in {len(messages)} turns. Name a chat "
            "renderer of tinker-cookbook that fits the base model, such as qwen3_instruct"
        )
    return messages[0]["content"]


def _chat_renderer(name: str, tokenizer: Any) -> Any:
    try:
        from tinker_cookbook import renderers
    except ImportError:
        raise AuditError(
            f"rollout.renderer {name!r} needs tinker-cookbook. Install it: pip install 'runaudit[train]'"
        ) from None
    try:
        return renderers.get_renderer(name, tokenizer)
    except (ValueError, KeyError) as error:
        raise AuditError(f"rollout.renderer {name!r}: tinker-cookbook has no such renderer ({error})") from error
