"""From a problem to the tokens that are sent, and back from sampled tokens to text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from analysis.errors import AuditError
from analysis.plan.model import Rollout
from runner.loop.task import Problem, TaskModule

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
        return sha256(json.dumps(self.token_ids, separators=(",", ":")).encode("ascii")).hexdigest()


class PromptRenderer:
    """Renders problems for one tokenizer, with the plan's renderer.

    Attributes:
        stop: what ends a completion beside the end token: None, stop strings, or stop token ids.
    """

    def __init__(self, tokenizer: Any, settings: Rollout) -> None:
        self._tokenizer = tokenizer
        self._chat = None if settings.renderer == PLAIN else _chat_renderer(settings.renderer, tokenizer)
        self.stop: list[str] | list[int] | None = self._stop_sequences(settings)

    def render(self, task: TaskModule, problems: Sequence[Problem]) -> list[Prompt]:
        """Return the prompts of the problems, in their order."""
        return [self._render_one(task, problem) for problem in problems]

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text of sampled tokens, without special tokens."""
        return str(self._tokenizer.decode(list(token_ids), skip_special_tokens=True))

    def _render_one(self, task: TaskModule, problem: Problem) -> Prompt:
        text = task.render(problem.question)
        if self._chat is None:
            token_ids = tuple(self._tokenizer.encode(text, add_special_tokens=False))
        else:
            token_ids = tuple(self._chat.build_generation_prompt([{"role": "user", "content": text}]).to_ints())
            text = str(self._tokenizer.decode(list(token_ids)))
        template = text.replace(problem.question, "{question}", 1)
        return Prompt(problem, text, token_ids, sha256(template.encode("utf-8")).hexdigest())

    def _stop_sequences(self, settings: Rollout) -> list[str] | list[int] | None:
        if self._chat is None:
            # An empty list would switch the end token off as well.
            return settings.stop or None
        stops = list(self._chat.get_stop_sequences())
        if settings.stop and any(isinstance(stop, int) for stop in stops):
            raise AuditError(
                f"rollout.stop: renderer {settings.renderer!r} stops at token ids, and the service takes ids or "
                "strings, not both. Remove rollout.stop from the plan"
            )
        return [*stops, *settings.stop]


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
