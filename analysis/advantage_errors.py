"""How wrong a critic's advantages are against Monte Carlo estimates, and how much of that reaches the update.

A constant error is subtracted with the batch's mean before the update, and a z-score divides the scale away too. So the
mean squared error is split, with everything but the offset taken within a batch:

    MSE = offset^2 + scale + residual,   scale = (slope - 1)^2 Var(A_MC)

where `slope` is that of the critic's advantage on the true one. A Monte Carlo estimate has noise of its own, known by
its standard error. Its variance is taken out of the mean squared error and out of Var(A_MC), so that noise is not
counted as the critic's error and does not flatten the slope.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.advantages.normalized import Normalization
from analysis.losses.agreement import cosine

_FEWEST = 2


@dataclass(frozen=True)
class AdvantageError:
    """Error of estimated advantages, in units of reward.

    Attributes:
        states: how many were compared.
        batches: from how many batches.
        bias: mean of estimate minus Monte Carlo.
        mean_absolute: mean absolute difference; the Monte Carlo noise is in it, as it cannot be taken out.
        mean_squared: mean squared difference, the noise taken out; below 0 where the noise explains more than is there.
        noise: mean squared standard error of the Monte Carlo estimates.
        correlation: of both, Pearson's, the noise left in; None where one does not vary.
        slope: of the estimate on the true advantage within batches; None where the Monte Carlo estimates do not vary
            beyond their noise.
        offset_squared: the part of `mean_squared` that subtracting each batch's mean removes.
        scale: the part that dividing by the batch's standard deviation removes besides; None without a slope.
        residual: the rest, which reaches the update in any case; None without a slope.
    """

    states: int
    batches: int
    bias: float
    mean_absolute: float
    mean_squared: float
    noise: float
    correlation: float | None
    slope: float | None
    offset_squared: float
    scale: float | None
    residual: float | None

    @property
    def root_mean_squared(self) -> float:
        """Square root of the mean squared error, 0 where the noise explains all of it."""
        return float(np.sqrt(max(self.mean_squared, 0.0)))

    @property
    def centered_root_mean_squared(self) -> float:
        """The same with each batch's offset removed."""
        return float(np.sqrt(max(self.mean_squared - self.offset_squared, 0.0)))

    def left_by(self, normalization: Normalization) -> float | None:
        """Return what a normalisation leaves of the mean squared error: below 0 where the noise explains more.

        Args:
            normalization: `none` leaves all of it, `mean` scale and residual, `z_score` the residual.

        Returns:
            The mean squared error that reaches the update; None where a z-score's share is not known without a slope.
        """
        if normalization == "none":
            return self.mean_squared
        return self.mean_squared - self.offset_squared if normalization == "mean" else self.residual


def advantage_error(
    estimated: ArrayLike, monte_carlo: ArrayLike, standard_errors: ArrayLike, batches: ArrayLike
) -> AdvantageError:
    """Compare estimated advantages with Monte Carlo ones.

    Args:
        estimated: the critic's, shape (n,), before any normalisation.
        monte_carlo: from fresh rollouts of the same states, independent of the critic's, shape (n,).
        standard_errors: of the Monte Carlo estimates, shape (n,), 0 or more.
        batches: which batch a state is of, shape (n,), integers: the normalisation is over a batch.

    Raises:
        ValueError: the shapes differ, there are fewer than 2 states, or a value is not finite.

    Source: the split of a mean squared error by regression (Murphy 1988, Mon. Wea. Rev. 116, eq. 12); noise in the
        regressor as in Fuller 1987, Measurement Error Models, Sec. 1.2 (known error variance).
    """
    batch = np.asarray(batches)
    estimate, truth, deviation = _checked(estimated, monte_carlo, standard_errors, batch)
    error, noise = estimate - truth, deviation**2
    _, index = np.unique(batch, return_inverse=True)
    sizes = np.bincount(index)
    offsets = np.bincount(index, weights=error) / sizes
    # The mean of a batch's errors has noise too: its square is too large by the mean's variance.
    offset_noise = np.bincount(index, weights=noise) / sizes**2
    offset_squared = float(np.average(offsets**2 - offset_noise, weights=sizes))
    mean_squared = float(np.mean(error**2) - noise.mean())
    slope, scale = _scale(_centered(estimate, index, sizes), _centered(truth, index, sizes), noise, sizes[index])
    return AdvantageError(
        states=len(error),
        batches=len(sizes),
        bias=float(error.mean()),
        mean_absolute=float(np.abs(error).mean()),
        mean_squared=mean_squared,
        noise=float(noise.mean()),
        correlation=_correlation(estimate, truth),
        slope=slope,
        offset_squared=offset_squared,
        scale=scale,
        residual=None if scale is None else mean_squared - offset_squared - scale,
    )


@dataclass(frozen=True)
class CalibrationBin:
    """States whose estimates are next to each other: what was estimated, and what fresh rollouts gave."""

    states: int
    estimated: float
    monte_carlo: float
    standard_error: float


def calibration(
    estimated: ArrayLike, monte_carlo: ArrayLike, standard_errors: ArrayLike, *, bins: int = 10
) -> tuple[CalibrationBin, ...]:
    """Return means of estimate and Monte Carlo in bins of equally many states, by the estimate.

    Equal estimates stand in one bin, which is then the larger: which of them would be in which is chance.

    Args:
        estimated: shape (n,).
        monte_carlo: shape (n,).
        standard_errors: of the Monte Carlo estimates, shape (n,).
        bins: how many; fewer where there are fewer states, or fewer different estimates.

    Raises:
        ValueError: the shapes differ, there are fewer than 2 states, or a value is not finite.
    """
    estimate, truth, deviation = _checked(estimated, monte_carlo, standard_errors, None)
    order = np.argsort(estimate, kind="stable")
    ordered = estimate[order]
    ends = np.cumsum([len(members) for members in np.array_split(order, min(bins, len(order)))])[:-1]
    # An end inside equal estimates moves up to where they end.
    cuts = np.unique(np.searchsorted(ordered, ordered[ends - 1], side="right")) if len(ends) else ends
    return tuple(
        CalibrationBin(
            states=len(members),
            estimated=float(estimate[members].mean()),
            monte_carlo=float(truth[members].mean()),
            standard_error=float(np.sqrt(np.sum(deviation[members] ** 2)) / len(members)),
        )
        for members in np.split(order, cuts[cuts < len(order)])
    )


def _centered(values: NDArray[np.float64], index: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    return values - (np.bincount(index, weights=values) / sizes)[index]


def _scale(
    estimate: NDArray[np.float64], truth: NDArray[np.float64], noise: NDArray[np.float64], sizes: NDArray[np.intp]
) -> tuple[float | None, float | None]:
    """Return slope and scale error from estimates and truths that are centred within their batches."""
    # Centring takes a share of the noise away with the batch's mean.
    left = float(np.mean(noise * (1.0 - 1.0 / sizes)))
    variance = float(np.mean(truth**2)) - left
    if variance <= 1e-12 * max(float(np.mean(truth**2)), float(np.mean(estimate**2)), np.finfo(np.float64).tiny):
        return None, None
    slope = float(np.mean(estimate * truth)) / variance
    return slope, (slope - 1.0) ** 2 * variance


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    if not np.ptp(first) or not np.ptp(second):
        return None
    found = cosine(first - first.mean(), second - second.mean())
    return None if np.isnan(found) else found


def _checked(
    estimated: ArrayLike, monte_carlo: ArrayLike, standard_errors: ArrayLike, batch: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    estimate, truth = np.asarray(estimated, np.float64), np.asarray(monte_carlo, np.float64)
    deviation = np.asarray(standard_errors, np.float64)
    shapes = [values.shape for values in (estimate, truth, deviation, batch) if values is not None]
    if len(set(shapes)) != 1 or estimate.ndim != 1:
        raise ValueError(f"estimates, Monte Carlo estimates, their errors and batches must be equally long: {shapes}")
    if len(estimate) < _FEWEST:
        raise ValueError(f"{len(estimate)} states: an error needs at least {_FEWEST}")
    if not all(np.isfinite(values).all() for values in (estimate, truth, deviation)):
        raise ValueError("an advantage or a standard error is not finite")
    if (deviation < 0).any():
        raise ValueError("a standard error is below 0")
    return estimate, truth, deviation
