"""The first six iterations of a public arithmetic run."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "tinker-rl-lab" / "arithmetic_metrics.jsonl"
ARMS = [("treatment", "metrics")]
ROWS = {"scalars": 145}
UNKNOWN = "notes"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "metrics.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"notes": "a text", "tags": [1]}) + "\n" for line in lines))
