"""Four sums that Inspect evaluated, in its JSON format."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "inspect" / "sums.json"
ARMS = [("baseline", "sums")]
ROWS = {"evals": 4, "prompts": 4}
UNKNOWN = "confidence"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "sums.json"))


def with_unknown_keys(path):
    log = json.loads(path.read_text())
    log["samples"] = [sample | {"confidence": 0.5} for sample in log["samples"]]
    path.write_text(json.dumps(log))
