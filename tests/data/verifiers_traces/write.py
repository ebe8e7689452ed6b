"""Writes episodes with the classes and the writer of verifiers 0.4.0 itself: `python write.py FOLDER`."""

import random
import sys
from pathlib import Path

MODEL = "made-model"
PROMPT = [101, 102, 103]


def write(folder: Path) -> None:
    """Write `train/traces.jsonl` (2 groups of 4 rollouts) and `eval/traces.jsonl` (6 items, one of them failed)."""
    from verifiers.v1.episode import TrainRunInfo
    from verifiers.v1.utils.trace_store import write_episode

    draw = random.Random(7)
    for kind in ("train", "eval"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for group in range(2):
        for number in range(4):
            right = (group + number) % 2 == 0
            episode = _episode(draw, group, f"{'right' if right else 'wrong'} {number}", float(right), trained=True)
            _identify(episode, f"{group}-{number}", f"group-{group}")
            episode.record_run(
                TrainRunInfo.model_validate(
                    {"id": "run-1", "work": {"type": "train", "step": 5, "policy": {"start": 3, "end": 5}}}
                )
            )
            write_episode(folder / "train", episode)
    for number in range(6):
        episode = _episode(draw, 100 + number, f"answer {number}", float(number % 2 == 0), trained=False)
        _identify(episode, f"eval-{number}", None)
        if number == 5:
            _fail(episode)
        episode.record_run(TrainRunInfo.model_validate({"id": "run-1", "work": {"type": "eval", "step": 5}}))
        write_episode(folder / "eval", episode)


def _episode(draw, idx, text, reward, *, trained):
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.episode import Episode
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.state import State
    from verifiers.v1.task import WireTaskData, task_key
    from verifiers.v1.trace import AgentInfo, ModelCall, TimeSpan, Timing, Trace, TraceTask
    from verifiers.v1.types import AssistantMessage, Sampling, Usage, UserMessage

    question = f"What is {idx} plus 1?"
    data = WireTaskData.model_validate({"idx": idx, "prompt": question, "answer": str(idx + 1)})
    identity = task_key(data.model_dump(mode="json"))
    task = TraceTask(type="MadeTask", data=data, key=identity, hash=identity)
    ids = [draw.randrange(200, 50_000) for _ in range(4)]
    sampled = [-draw.expovariate(1.2) for _ in ids]
    nodes = [
        MessageNode(message=UserMessage(content=question), token_ids=PROMPT[:2], mask=[False] * 2, timestamp=0.0),
        MessageNode(
            parent=0, message=AssistantMessage(content=text), sampled=True, token_ids=[PROMPT[2], *ids],
            mask=[False] + [True] * 4, logprobs=sampled, timestamp=0.0,
        ),
    ]  # fmt: skip
    if trained:
        nodes[1].trainer_logprobs = [value - draw.expovariate(30) for value in sampled]
        nodes[1].advantages = [reward - 0.5] * 4
        nodes[1].entropies = [draw.expovariate(1) for _ in ids]
    trace = Trace[WireTaskData, State, WireAgentConfig](
        task=task, agent=AgentInfo(config=WireAgentConfig()), nodes=nodes, is_completed=True, ok=True,
        stop_condition="agent_completed", timing=Timing(start=0.0),
        calls=[ModelCall(
            node=1, model=MODEL, sampling=Sampling(temperature=1.0, max_tokens=64), endpoint="/chat/completions",
            finish_reason="stop", usage=Usage(prompt_tokens=3, completion_tokens=4), time=TimeSpan(start=0.0, end=0.5),
        )],
    )  # fmt: skip
    trace.record_reward("correct", reward)
    trace.record_metric("length", 4)
    return Episode[WireTaskData, State, WireAgentConfig](task=task, traces=[trace], ok=True)


def _identify(episode, name, group):
    from verifiers.v1.episode import EnvInfo, GroupInfo

    episode.id = f"episode-{name}"
    episode.traces[0].id = f"trace-{name}"
    episode.env = EnvInfo(id="made-env", name="made")
    episode.group = GroupInfo(id=group) if group else None


def _fail(episode):
    from verifiers.v1.errors import ProviderError

    (trace,) = episode.traces
    trace.nodes, trace.calls, trace.rewards = [], [], {"correct": None}
    trace.record_error(ProviderError("503: overloaded"))
    episode.ok = False
    episode.errors = list(trace.errors)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
