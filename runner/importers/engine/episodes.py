"""One episode of verifiers 0.4: whose work it was, its one turn, its reward, and the tokens of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from analysis.errors import AuditError
from runner.importers.engine.checks import short
from runner.importers.engine.record import Record
from runner.importers.engine.token_lists import aligned, flags, floats, wholes

_PER_TOKEN = ("advantages", "trainer_logprobs", "entropies")


@dataclass(frozen=True)
class Turn:
    """What the model was asked and wrote in the one turn of a trace.

    Attributes:
        completion: text; None where the message has none.
        prompt_ids: every token before the first sampled one, empty where tokens were not recorded.
        token_ids: the sampled tokens, empty where tokens were not recorded.
        logprobs: of the sampled tokens, nats; empty where they were not recorded.
        per_token: `advantages`, `trainer_logprobs` and `entropies` of the sampled tokens, those that were recorded.
    """

    completion: str | None
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    per_token: Mapping[str, tuple[float, ...]]
    model: str | None
    sampling: Mapping[str, Any]
    stop_reason: str | None
    n_tokens: int | None
    has_reasoning: bool


@dataclass(frozen=True)
class Episode:
    """One episode with one trace of at most one turn.

    Attributes:
        work: `train`, or `eval` of a training run or of a run of its own.
        step: of the training run, None for an evaluation of its own.
        sampler_version: the policy's version, or the span of versions that it was generated under.
        item: what names the task: its key, else its content hash, else its place in the taskset.
        reward: weighted sum of the rewards, None where one was not computed.
        error: why there is no reward.
        trainable: whether the trace's tokens train the policy.
    """

    id: str
    where: str
    work: Literal["train", "eval"]
    step: int | None
    sampler_version: str | None
    item: str
    group: str | None
    task: Record
    turn: Turn | None
    reward: float | None
    error: str | None
    rewards: Mapping[str, float]
    trainable: bool
    environment: str | None
    version: str | None


def read_episode(record: Record) -> Episode:
    """Return an episode.

    Raises:
        AuditError: it is of several agents or turns, or a value is none that verifiers writes; the place and the item
            are named.
    """
    task = record.part("task")
    item = _item(task)
    where = f"{record.where}, item {short(item)}"
    traces = list(record.parts("traces"))
    if len(traces) > 1:
        raise AuditError(f"{where}: an episode of {len(traces)} traces (several agents), and the run format has one")
    trace = traces[0] if traces else None
    rewards, reward = _rewards(trace) if trace is not None else ({}, None)
    error = _error(record, trace, reward)
    work, step, version = _work(record)
    return Episode(
        id=record.text("id"),
        where=where,
        work=work,
        step=step,
        sampler_version=version,
        item=item,
        group=record.part("group").text("id") if record.values.get("group") is not None else None,
        task=task,
        turn=_turn(trace, where) if trace is not None else None,
        reward=None if error else reward,
        error=error,
        rewards=rewards,
        trainable=trace is None or _trainable(trace),
        environment=_text_in(record, "env", "id"),
        version=_text_in(trace, "verifiers", "version") if trace is not None else None,
    )


def decimals(value: float) -> int:
    """Return how many digits a number has behind the point as it was written; 0 for one that is not finite."""
    if round(value, 4) == value:
        return 4
    if not math.isfinite(value):
        return 0
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _item(task: Record) -> str:
    for key in ("key", "hash"):
        if task.values.get(key) is not None:
            return task.text(key)
    data = task.part("data")
    return str(data.whole("idx")) if data.values.get("idx") is not None else data.text("id")


def _text_in(record: Record, part: str, key: str) -> str | None:
    return record.part(part).text_or_none(key) if record.values.get(part) is not None else None


def _trainable(trace: Record) -> bool:
    agent = trace.part("agent") if trace.values.get("agent") is not None else Record({}, trace.where)
    return agent.flag("trainable") if "trainable" in agent.values else True


def _work(record: Record) -> tuple[Literal["train", "eval"], int | None, str | None]:
    """Return the kind of work, its step and the version of the weights; without a run it is an evaluation alone."""
    if record.values.get("run") is None:
        return "eval", None, None
    run = record.part("run")
    if run.text("type") == "eval":
        return "eval", None, None
    if run.text("type") != "train":
        raise run.fault("type", "train or eval")
    work = run.part("work")
    if work.text("type") not in ("train", "eval"):
        raise work.fault("type", "train or eval")
    version = None
    if work.values.get("policy") is not None:
        start, end = (work.part("policy").whole(key) for key in ("start", "end"))
        version = str(start) if start == end else f"{start}-{end}"
    return ("train" if work.text("type") == "train" else "eval"), work.whole("step"), version


def _rewards(trace: Record) -> tuple[dict[str, float], float | None]:
    """Return the weight of each reward and their weighted sum, None where one was not computed or there is none."""
    rewards = trace.part("rewards")
    weights, total = {}, 0.0
    for name in rewards.values:
        if rewards.values[name] is None:
            return {}, None
        part = rewards.part(name)
        weights[rewards.name(name)] = part.number("weight")
        total += part.number("score") * part.number("weight")
    return weights, total if weights else None


def _error(record: Record, trace: Record | None, reward: float | None) -> str | None:
    ok = record.flag("ok") and (trace is None or trace.flag("ok"))
    for holder in () if ok else (record, trace):
        errors = list(holder.parts("errors")) if holder is not None else []
        if errors:
            return f"{errors[-1].text('type')}: {errors[-1].text('message')}"
    if not ok:
        return f"not ok: {(trace.text_or_none('stop_condition') if trace is not None else None) or 'no error recorded'}"
    return "no reward was recorded" if reward is None else None


def _turn(trace: Record, where: str) -> Turn | None:
    nodes = list(trace.parts("nodes"))
    sampled = [number for number, node in enumerate(nodes) if node.flag("sampled")]
    if not sampled:
        return None
    if len(sampled) > 1:
        raise AuditError(f"{where}: an episode of {len(sampled)} turns, and the run format has one")
    (number,) = sampled
    prompt_ids: list[int] = []
    for above in _path(nodes, number, where):
        mask = flags(nodes[above], "mask")
        if any(mask):
            raise AuditError(f"{nodes[above].where}: the mask marks tokens of a message that no call sampled")
        prompt_ids += wholes(nodes[above], "token_ids", aligned(nodes[above], "token_ids", len(mask)), range(len(mask)))
    node = nodes[number]
    mask = flags(node, "mask")
    ids = wholes(node, "token_ids", aligned(node, "token_ids", len(mask)), range(len(mask)))
    start = mask.index(True) if any(mask) else len(mask)
    if not all(mask[start:]):
        raise AuditError(f"{node.where}: the sampled tokens stand in several spans: several turns")
    call = _call(trace, number)
    message = node.part("message")
    logprobs = _sampled_floats(node, "logprobs", len(mask) - start) if node.list("logprobs") else []
    return Turn(
        completion=message.text_or_none("content"),
        prompt_ids=(*prompt_ids, *ids[:start]),
        token_ids=tuple(ids[start:]),
        logprobs=tuple(logprobs),
        per_token={
            key: tuple(_sampled_floats(node, key, len(mask) - start))
            for key in _PER_TOKEN
            if node.values.get(key) is not None
        },
        model=call.text_or_none("model"),
        sampling=call.part("sampling").values if call.values.get("sampling") is not None else {},
        stop_reason=call.text_or_none("finish_reason"),
        n_tokens=len(mask) - start or _used(call),
        has_reasoning=message.values.get("reasoning_content") is not None,
    )


def _sampled_floats(node: Record, key: str, length: int) -> list[float]:
    return floats(node, key, aligned(node, key, length), range(length))


def _path(nodes: Sequence[Record], leaf: int, where: str) -> list[int]:
    """Return the numbers of the messages before a node, from the root on."""
    found: list[int] = []
    node = leaf
    while nodes[node].values.get("parent") is not None:
        # A node stands after its parent, so that a path ends.
        node = nodes[node].whole("parent", most=max(node - 1, 0))
        if node in found or node == leaf:
            raise AuditError(f"{where}: the messages form a circle")
        found.append(node)
    return found[::-1]


def _call(trace: Record, node: int) -> Record:
    """Return the model call that wrote a node, an empty record where none is recorded."""
    calls = trace.parts("calls") if trace.values.get("calls") is not None else iter(())
    found = [call for call in calls if call.values.get("node") == node]
    return found[-1] if found else Record({}, trace.where)


def _used(call: Record) -> int | None:
    if call.values.get("usage") is None:
        return None
    return call.part("usage").whole_or_none("completion_tokens")
