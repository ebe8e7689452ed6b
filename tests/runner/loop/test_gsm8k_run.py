"""A pilot on GSM8K with a real model: needs the converted SmolLM2 in the cache, and minutes."""

import json
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from audits.engine.gate import evaluate_gate
from audits.store.reader import open_run
from audits.store.seal import seal_text
from runner.loop.plans import shipped_plan_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
DATA = Path(__file__).parents[2] / "data"
REWARDS = {-0.1, 0.0, 0.9, 1.0}


@pytest.fixture
def smollm2():
    """Return the folder of the converted model."""
    from runner.cache import cache_root
    from runner.service.catalogue import GGUF_MODELS
    from runner.service.gguf_models import cached_folder

    folder = cached_folder(GGUF_MODELS["smollm2"], cache_root())
    if not (folder / "config.json").is_file():
        pytest.skip("SmolLM2 is not in the cache: start `audit serve --model smollm2` once")
    return folder


def _small_plan():
    plan = json.loads(shipped_plan_text("smollm2_gsm8k"))
    plan["task"] |= {"train_items": 8, "validation_items": 2, "test_items": 2}
    plan["rollout"] |= {"groups_per_batch": 2, "group_size": 2, "max_tokens": 8, "rollout_batches": 2}
    plan["evaluation"] |= {"max_tokens": 8, "curve": None}
    plan["activation_gate"]["pilot_steps"] = 1
    return seal_text(json.dumps(plan), source="small plan")


@pytest.mark.usefixtures("sdk")
def test_a_pilot_on_gsm8k_logs_the_cookbooks_prompt_and_reward_and_its_gate_is_judged(
    smollm2, tmp_path, monkeypatch, progress
):
    from runner.loop.backend import open_backend
    from runner.loop.launch import execute_on, prepare
    from runner.service.process import EmbeddedService

    monkeypatch.setenv("RUNAUDIT_DATA", str(DATA))
    plan = _small_plan()
    with (
        EmbeddedService({"smollm2": smollm2}, tmp_path / "state", tmp_path / "service.log") as service,
        open_backend(service.url, tmp_path) as backend,
    ):
        out = execute_on(prepare(plan, "pilot", tmp_path / "pilot", None, progress), nullcontext(backend), progress)
    run = open_run(out)
    prompts = pq.read_table(out / "prompts.parquet", partitioning=None).to_pydict()
    assert prompts["split"] == ["train"] * 8 + ["validation"] * 2 + ["test"] * 2
    assert all(
        "How many r's are in strawberry?" in text and text.count("<|im_start|>") >= 4 for text in prompts["rendered"]
    )
    for arm in ("grpo", "dppo"):
        rows = pq.read_table(out / f"rollouts/arm={arm}/seed=0/step=000000.parquet", partitioning=None).to_pydict()
        assert {round(reward, 6) for reward in rows["reward"]} <= REWARDS
        assert all(rows["extraction"])
        # The cookbook's own order, without what is held out: each prompt of the first batch in turn.
        assert list(dict.fromkeys(rows["prompt_id"])) == prompts["prompt_id"][:2]
    assert run.manifest.executed["dataset"]["read_from"] == "RUNAUDIT_DATA/gsm8k"
    gate = evaluate_gate(run, plan.plan)
    status = {(check.id, check.arm): check.status for check in gate.checks}
    assert status["executed_base_model", "dppo"] == "pass"
    assert status["executed_updates_per_batch", "grpo"] == "pass"
    # Eight tokens end no answer: every group has one reward, no advantage, and nothing that a mask could hide.
    assert status["dppo_masked_token_fraction", "dppo"] == "fail"
