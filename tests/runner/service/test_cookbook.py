"""The cookbook's own training loop runs unmodified against the service."""

import json
import os
import subprocess
import sys

import pytest

from audits.store.reader import connect, open_run
from runner.importers.engine.importing import import_run

pytest.importorskip("tinker_cookbook", reason="the training extra is not installed")

LOOP = """
import asyncio, sys
import chz
from tinker_cookbook import tokenizer_utils
from tinker_cookbook.capture import CaptureExporter, JsonlFileSink, capture, instrument_tinker, uninstrument_tinker
from tinker_cookbook.recipes.math_rl.arithmetic_env import ArithmeticDatasetBuilder
from tinker_cookbook.rl import train
from tinker_cookbook.stores.storage import LocalStorage
from transformers import AutoTokenizer

url, folder, log_path = sys.argv[1:]
tokenizer_utils.register_tokenizer("random", lambda: AutoTokenizer.from_pretrained(folder))

class WithTest(ArithmeticDatasetBuilder):
    async def __call__(self):
        data, _ = await super().__call__()
        return data, data

dataset = chz.chz(WithTest)(
    batch_size=4, group_size=2, n_batches=2, model_name_for_tokenizer="random", renderer_name="role_colon"
)
config = train.Config(
    learning_rate=1e-3, dataset_builder=dataset, model_name="random", recipe_name="test", renderer_name="role_colon",
    max_tokens=6, log_path=log_path, base_url=url, eval_every=1, save_every=1, lora_rank=4, num_substeps=2,
    loss_fn="ppo", loss_fn_config={"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}, compute_post_kl=True,
)
exporter = CaptureExporter(JsonlFileSink(LocalStorage(log_path)))
instrument_tinker(exporter)
with capture(run_id="test"):
    asyncio.run(train.main(config))
uninstrument_tinker()
exporter.wait_pending(timeout=5)
exporter.shutdown()
"""


@pytest.mark.slow
def test_two_steps_of_the_arithmetic_recipe(service, random_model, tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOOP, service.url, str(random_model), str(tmp_path / "log")],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in (tmp_path / "log" / "metrics.jsonl").read_text().splitlines()]
    saved = [json.loads(line) for line in (tmp_path / "log" / "checkpoints.jsonl").read_text().splitlines()]

    assert [row["step"] for row in rows if "optim/kl_sample_train_v1" in row] == [0, 1]
    # Two updates a batch: the first sees the weights that sampled, the second has moved by one step.
    assert all(0 < abs(row["optim/kl_sample_train_v1"]) < 0.1 for row in rows if "optim/kl_sample_train_v1" in row)
    assert [row["name"] for row in saved][-1] == "final"
    assert all(row["state_path"].startswith("tinker://") for row in saved)

    told = import_run([str(tmp_path / "log")], arms=[], item=None, out=tmp_path / "run", command_line=["audit"])
    run = open_run(tmp_path / "run")
    assert run.manifest.executed["rollout.updates_per_batch"] == 2
    assert run.manifest.executed["optimizer.beta2"] == 0.95
    assert "captured requests: samples: 48, optimiser steps: 4" in told
    with connect(run) as connection:
        assert connection.execute("SELECT count(*) FROM rollouts").fetchall() == [(16,)]
        assert connection.execute("SELECT count(DISTINCT phase) FROM phases").fetchall() == [(4,)]
