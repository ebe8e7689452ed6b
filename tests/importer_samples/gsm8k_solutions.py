"""The first eight of OpenAI's example solutions, of four models each."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "gsm8k" / "solutions.jsonl"
ARMS = [("baseline", "6b_finetuning"), ("treatment", "175b_finetuning")]
ROWS = {"evals": 32, "prompts": 8}
UNKNOWN = "difficulty"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "solutions.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"difficulty": 3, "tags": {"a": 1}}) + "\n" for line in lines))
