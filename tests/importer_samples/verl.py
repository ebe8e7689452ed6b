"""A validation dump that verl's own function wrote."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "verl" / "validation" / "2.jsonl"
ARMS = [("treatment", "2")]
ROWS = {"evals": 3, "prompts": 3}
UNKNOWN = "confidence"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "2.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"confidence": 0.5}) + "\n" for line in lines))
