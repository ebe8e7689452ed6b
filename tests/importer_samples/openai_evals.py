"""Eight sums, one of which failed, as OpenAI's `evals` logged them."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "openai_evals" / "sums.jsonl"
ARMS = [("treatment", "sums")]
ROWS = {"evals": 8, "prompts": 7}
UNKNOWN = "latency"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "sums.jsonl"))


def with_unknown_keys(path):
    spec, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [line | {"latency": 0.5} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in (spec, *lines)))
