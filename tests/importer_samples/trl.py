"""The state of a trainer of TRL's, with the first step of its history: every value of it is tried."""

import json
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "data" / "trl" / "text" / "trainer_state.json"
ARMS = [("treatment", "trainer_state")]
ROWS = {"scalars": 26}
UNKNOWN = "hours"


def sample(folder):
    state = json.loads(SOURCE.read_text())
    kept = {key: value for key, value in state.items() if key in ("log_history", "global_step", "max_steps")}
    path = folder / "trainer_state.json"
    path.write_text(json.dumps(kept | {"log_history": state["log_history"][:1]}))
    return path


def with_unknown_keys(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hours": 3}))
