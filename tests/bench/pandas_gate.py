"""The demo plan's gate as a user of pandas would write it by hand: what `audit gate` is compared with."""

import sys
from pathlib import Path

import numpy as np

COLUMNS = ["step", "update", "sampler_logprob", "current_logprob", "advantage"]


def main(run: Path) -> None:
    """Print the gate's figures of every arm, step and update."""
    import pandas as pd

    frames = []
    for path in sorted((run / "tokens").rglob("*.parquet")):
        arm, seed = path.parts[-3].removeprefix("arm="), path.parts[-2].removeprefix("seed=")
        frames.append(pd.read_parquet(path, columns=COLUMNS).assign(arm=arm, seed=int(seed)))
    tokens = pd.concat(frames, ignore_index=True)
    tokens["arm"] = tokens["arm"].astype("category")
    p_sampler = np.exp(tokens["sampler_logprob"].astype("float64"))
    p_current = np.exp(tokens["current_logprob"].astype("float64"))
    ratio, moved, advantage = p_current / p_sampler, p_current - p_sampler, tokens["advantage"]
    tokens["drift"] = moved.abs()
    tokens["masked"] = (np.sign(moved) * np.sign(advantage) > 0) & (tokens["drift"] > 0.15)
    tokens["clipped"] = ((advantage > 0) & (ratio > 1.2)) | ((advantage < 0) & (ratio < 0.8))
    tokens["mismatch"] = (tokens["current_logprob"].astype("float64") - tokens["sampler_logprob"]).abs()
    keys = ["arm", "seed", "step", "update"]
    by_update = tokens.groupby(keys, observed=True)
    shares = by_update[["masked", "clipped", "mismatch"]].mean()
    quantiles = by_update["drift"].quantile(0.9)
    second = tokens[(tokens["update"] == 1) & (tokens["arm"] == "dppo")]
    means = shares.join(quantiles).groupby(["arm", "update"], observed=True).mean()
    sys.stdout.write(
        f"{means}\npooled 90th percentile of the treatment's second updates {second['drift'].quantile(0.9)}\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
