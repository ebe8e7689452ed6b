"""Two groups of four training episodes, written by verifiers 0.4.0 itself."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "verifiers_traces" / "train" / "traces.jsonl"
ARMS = [("treatment", "traces")]
ROWS = {"rollouts": 8, "tokens": 32, "prompts": 2}
UNKNOWN = "notes"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "traces.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"notes": "a text"}) + "\n" for line in lines))
