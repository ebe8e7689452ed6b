"""Which waiting requests are drawn together, and that each one gets its own answer."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the training extra is not installed")
pytest.importorskip("tinker", reason="the training extra is not installed")

from runner.service import samplers  # noqa: E402
from runner.service.faults import UserFault  # noqa: E402
from runner.service.requests import Chunk, Prompt, Sample, SamplingParams  # noqa: E402
from runner.service.samplers import Sampler, SamplingJob  # noqa: E402


class Outcome:
    """Keeps what a request was answered with."""

    def __init__(self):
        self.drawn = self.error = None

    def give(self, drawn):
        self.drawn = drawn

    def fail(self, error):
        self.error = error


def job(seed, samples=1, temperature=1.0, **questions):
    request = Sample(
        sampling_session_id="s",
        seq_id=seed,
        num_samples=samples,
        prompt=Prompt(chunks=[Chunk(tokens=list(range(70, 72 + seed)))]),
        sampling_params=SamplingParams(max_tokens=4, seed=seed, temperature=temperature),
        **questions,
    )
    return SamplingJob(request, Outcome())


@pytest.fixture
def batches(monkeypatch):
    """The seeds of each batch that is drawn."""
    seen = []
    generate = samplers.generate

    def watched(requests, *rest):
        seen.append([request.seq_id for request in requests])
        return generate(requests, *rest)

    monkeypatch.setattr(samplers, "generate", watched)
    monkeypatch.setattr(samplers, "GATHER_SECONDS", 0.0)
    return seen


def drawn_by(base, jobs, *, together):
    sampler = Sampler(base, "random")
    sampler.together = together
    for each in jobs:
        sampler.add(each)
    for _ in jobs:
        sampler.draw()
    return sampler


def test_on_the_cpu_every_request_is_a_batch(base, batches):
    assert Sampler(base, "random").together is False
    drawn_by(base, [job(0), job(1)], together=False)
    assert batches == [[0], [1]]


def test_what_is_alike_is_drawn_together_and_answered_apart(base, batches):
    jobs = [job(0), job(1, 2), job(2, temperature=0.5), job(3, prompt_logprobs=True), job(4)]
    drawn_by(base, jobs, together=True)

    assert batches == [[0, 1, 4], [2], [3]]
    assert [len(each.answer.drawn.completions) for each in jobs] == [1, 2, 1, 1, 1]
    assert [each.answer.drawn.scores is not None for each in jobs] == [False, False, False, True, False]


def test_a_batch_has_a_largest_size_but_one_request_is_always_served(base, batches, monkeypatch):
    monkeypatch.setattr(samplers, "MAX_SEQUENCES", 4)
    drawn_by(base, [job(0, 3), job(1, 2), job(2, 1), job(3, 9)], together=True)
    assert batches == [[0, 2], [1], [3]]


def test_a_failure_is_everybodys_answer(base, batches):
    def missing():
        raise UserFault("checkpoint is gone")

    sampler = Sampler(base, "random", SimpleNamespace(rank=4), "tinker://x", missing)
    sampler.together = True
    jobs = [job(0), job(1)]
    for each in jobs:
        sampler.add(each)
    sampler.draw()

    assert [str(each.answer.error) for each in jobs] == ["checkpoint is gone"] * 2


def test_weights_that_are_not_there_yet_are_no_base_model(base, batches):
    sampler = Sampler(base, "random", SimpleNamespace(rank=4))
    waiting = job(0)
    sampler.add(waiting)
    sampler.draw()
    assert "has no weights yet" in str(waiting.answer.error)
