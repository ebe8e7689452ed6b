"""Four sums that lm-evaluation-harness evaluated by a vote, with one filter and one metric."""

import json
import shutil
from pathlib import Path

SOURCE = next((Path(__file__).parents[1] / "data" / "lm_eval" / "other").glob("samples_voted_sums_*.jsonl"))
ARMS = [("treatment", SOURCE.stem)]
ROWS = {"evals": 4, "prompts": 4}
UNKNOWN = "confidence"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / SOURCE.name))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"confidence": 0.5}) + "\n" for line in lines))
