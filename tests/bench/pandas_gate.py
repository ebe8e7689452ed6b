"""The demo plan's gate as a user of pandas would write it by hand: what `audit gate` is compared with."""

import sys
from pathlib import Path

import numpy as np


def main(run: Path) -> None:
    """Print the gate's figures of every arm, step and update."""
    import pandas as pd

    tokens = pd.read_parquet(run / "tokens")
    sampler, current = tokens["sampler_logprob"].astype("float64"), tokens["current_logprob"].astype("float64")
    advantage = tokens["advantage"].astype("float64")
    p_sampler, p_current = np.exp(sampler), np.exp(current)
    ratio, moved = np.exp(current - sampler), p_current - p_sampler
    tokens["drift"] = moved.abs()
    tokens["masked"] = (np.sign(moved) * np.sign(advantage) > 0) & (tokens["drift"] > 0.15)
    tokens["clipped"] = ((advantage > 0) & (ratio > 1.2)) | ((advantage < 0) & (ratio < 0.8))
    tokens["mismatch"] = (current - sampler).abs()
    tokens["has_advantage"] = advantage != 0
    tokens["invalid"] = ~(np.isfinite(sampler) & np.isfinite(current) & np.isfinite(advantage))
    keys = ["arm", "seed", "step", "update"]
    by_update = tokens.groupby(keys, observed=True)
    shares = by_update[["masked", "clipped", "mismatch", "has_advantage", "invalid"]].mean()
    quantiles = by_update["drift"].quantile(0.9)
    second = tokens[(tokens["update"] == 1) & (tokens["arm"] == "dppo")]
    means = shares.join(quantiles).groupby(["arm", "update"], observed=True).mean()
    pooled = second["drift"].quantile(0.9)
    sys.stdout.write(f"{means}\npooled 90th percentile of the treatment's second updates {pooled}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
