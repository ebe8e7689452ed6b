"""Four examples with two rollouts each, written by verifiers 0.1.14 itself."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "verifiers_results" / "results.jsonl"
ARMS = [("treatment", "results")]
ROWS = {"evals": 8, "prompts": 4}
UNKNOWN = "notes"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "results.jsonl"))


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"notes": "a text"}) + "\n" for line in lines))
