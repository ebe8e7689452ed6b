"""The first twelve items of a public held-out evaluation of the base model."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "tinker-rl-lab" / "gsm8k_base_control_first_12.json"
ARMS = [("baseline", "base_control")]
ROWS = {"evals": 12}
UNKNOWN = "confidence"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "base_control.json"))


def with_unknown_keys(path):
    held = json.loads(path.read_text())
    held["examples"] = [example | {"confidence": 0.5} for example in held["examples"]]
    path.write_text(json.dumps(held | {"added": [1]}))
