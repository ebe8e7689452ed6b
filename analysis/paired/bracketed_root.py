"""The root of an increasing function inside a bracket, approached from the side where it is not positive."""

from collections.abc import Callable

_MAX_STEPS = 300


def bracketed_root(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the largest point found where the function is at most 0, by the Illinois method with bisections.

    Args:
        function: nondecreasing on [low, high]; taken to be at most 0 at `low`, where it is not evaluated.
        low: left end of the bracket.
        high: right end; where the function is at most 0 there too, it is the result.
        tolerance: the result is at most this far left of the root.

    Returns:
        The left end of a final bracket no wider than the tolerance: a lower confidence limit errs outward by it.
    """
    value_high = function(high)
    if value_high <= 0.0:
        return high
    value_low: float | None = None
    moved = ""
    checkpoint = high - low
    for step in range(_MAX_STEPS):
        if high - low <= tolerance:
            break
        slow = False
        if step % 3 == 0 and step > 0:
            # Three steps that did not shrink the bracket eightfold are worse than three bisections.
            slow, checkpoint = high - low > checkpoint / 8.0, high - low
        if value_low is None or slow:
            point = (low + high) / 2.0
        else:
            point = low - value_low * (high - low) / (value_high - value_low)
            # Half a tolerance inside the bracket, so that an accurate guess closes it from the other side.
            point = min(max(point, low + 0.5 * tolerance), high - 0.5 * tolerance)
        value = function(point)
        # Illinois: an end that stays put twice counts half, or it would stay for ever.
        if value <= 0.0:
            if moved == "low":
                value_high /= 2.0
            low, value_low, moved = point, value, "low"
        else:
            if moved == "high" and value_low is not None:
                value_low /= 2.0
            high, value_high, moved = point, value, "high"
    return low
