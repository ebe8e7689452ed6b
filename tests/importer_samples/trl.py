"""The state of a trainer of TRL's."""

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "trl" / "text" / "trainer_state.json"
ARMS = [("treatment", "trainer_state")]
ROWS = {"scalars": 83}
UNKNOWN = "hours"


def sample(folder):
    return Path(shutil.copy(SOURCE, folder / "trainer_state.json"))


def with_unknown_keys(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hours": 3}))
