"""The figures of `audit drift` as a user of pandas would write them: what its whole process is compared with."""

import sys
from pathlib import Path

import numpy as np

DELTA, EPS = 0.15, 0.2


def main(run: Path) -> None:
    """Print the figures of every arm, seed, step and update, and their means over steps."""
    import pandas as pd

    tokens = pd.read_parquet(run / "tokens")
    sampler, current = tokens["sampler_logprob"].astype("float64"), tokens["current_logprob"].astype("float64")
    advantage, log_ratio = tokens["advantage"].astype("float64"), current - sampler
    moved, ratio = np.exp(current) - np.exp(sampler), np.exp(log_ratio)
    tokens["drift"] = moved.abs()
    tokens["masked"] = (np.sign(moved) * np.sign(advantage) > 0) & (tokens["drift"] > DELTA)
    tokens["clipped"] = ((advantage > 0) & (ratio > 1 + EPS)) | ((advantage < 0) & (ratio < 1 - EPS))
    tokens["kl_k3"] = ratio - 1 - log_ratio
    tokens["ratio"] = ratio
    tokens["squared_ratio"] = ratio * ratio
    tokens["mismatch"] = log_ratio.abs()
    tokens["surprisal"] = -sampler
    tokens["certain"] = sampler == 0
    tokens["invalid"] = ~(np.isfinite(sampler) & np.isfinite(current) & np.isfinite(advantage))
    by_update = tokens.groupby(["arm", "seed", "step", "update"], observed=True)
    means = ["masked", "clipped", "kl_k3", "ratio", "squared_ratio", "mismatch", "surprisal", "certain", "invalid"]
    figures = by_update[means].mean()
    figures["effective_sample_size"] = figures["ratio"] ** 2 / figures["squared_ratio"]
    figures["ratio_max"] = by_update["ratio"].max()
    quantiles = by_update["drift"].quantile([0.5, 0.9, 0.99]).unstack()
    figures = figures.join(quantiles)
    figures.to_csv(sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
