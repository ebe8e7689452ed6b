"""Writes the sample: two made-up runs, logged with trackio itself.

    python tests/data/trackio/write.py tests/data/trackio

Needs trackio (0.43.0); it is offline, and its database is the only file that is kept.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path


def write(folder, name="sums.db"):
    """Log two runs and return the path of their project's database."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TRACKIO_DIR"] = scratch
        import trackio

        for seed in (1, 2):
            config = {"learning_rate": 1e-5, "seed": seed, "group_size": 8, "optimizer": {"name": "adam"}}
            trackio.init(project="sums", name="grpo", config=config)
            for step in range(4):
                trackio.log({"reward/mean": 0.1 * step + seed, "loss": 1 / (step + 1), "note": "a text"})
            # As a resumed run does.
            trackio.log({"loss": 0.2, "grad_norm": float("nan")}, step=3)
            trackio.finish()
        return Path(shutil.copy(Path(scratch) / "sums.db", Path(folder) / name))


if __name__ == "__main__":
    sys.stdout.write(f"{write(sys.argv[1])}\n")
