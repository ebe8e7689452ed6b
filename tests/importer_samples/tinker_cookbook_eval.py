"""Five sums of a benchmark, one of which failed."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "tinker_cookbook_eval" / "sums" / "trajectories.jsonl"
ARMS = [("treatment", "sums")]
ROWS = {"evals": 5, "prompts": 4}
UNKNOWN = "judge"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "trajectories.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"judge": "x"}) + "\n" for line in lines))
