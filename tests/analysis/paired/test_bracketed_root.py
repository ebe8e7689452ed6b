import math

import pytest

from analysis.paired.bracketed_root import bracketed_root


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: x - 0.3, 0.0, 1.0, 0.3),
        (lambda x: x**9 - 1e-9, 0.0, 1.0, 0.1),
        (lambda x: math.exp(50.0 * x) - 2.0, -1.0, 1.0, math.log(2.0) / 50.0),
        (lambda x: float(x > 0.7) - 0.5, 0.0, 1.0, 0.7),
        (lambda x: 1.0 / (1.0 - x) - 1e6, 0.0, 1.0 - 1e-9, 1.0 - 1e-6),
    ],
)
def test_root_is_approached_from_below(function, low, high, root):
    found = bracketed_root(function, low, high, 1e-12)
    assert function(found) <= 0.0
    assert root - 2e-12 <= found <= root + 1e-15


def test_smooth_function_needs_few_steps():
    calls = []

    def function(x):
        calls.append(x)
        return math.tanh(3.0 * x) - 0.2

    found = bracketed_root(function, -1.0, 1.0, 1e-12)
    assert found == pytest.approx(math.atanh(0.2) / 3.0, abs=2e-12)
    assert len(calls) < 25


def test_a_function_that_stays_negative_returns_the_right_end():
    assert bracketed_root(lambda x: x - 2.0, 0.0, 1.0, 1e-9) == 1.0
