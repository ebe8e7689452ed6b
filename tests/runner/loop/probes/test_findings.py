"""Comparisons as results hold them: what passes, what a noisy service leaves open, and the words."""

import json
import math

import pytest

from analysis.losses.agreement import Tolerance
from runner.loop.probes.findings import Subject, agreement, direction, open_question, worst

TOLERANCE = Tolerance(atol=1e-5, rtol=1e-3)
TOKENS = Subject("dppo/ratio/x/y", "somewhere", lambda index: {"rollout": index // 2, "position": index % 2}, "words")
WHOLE = Subject("dppo/ratio/x/y", "somewhere", None, "words")


def test_what_agrees_passes_and_holds_its_numbers():
    found = agreement(TOKENS, "gradient", [1.0, 2.0], [1.0, 2.001], TOLERANCE)
    assert (found.status, found.n, found.reason) == ("pass", 2, None)
    assert (found.value, found.expected) == (2.0, 2.001)
    assert found.where == {"index": 1, "rollout": 0, "position": 1}
    assert found.tolerance == {"atol": 1e-5, "rtol": 1e-3}


def test_what_differs_fails_and_says_where_and_by_how_much():
    found = agreement(TOKENS, "gradient", [1.0, 2.0, 0.5], [1.0, 2.0, 0.0], TOLERANCE)
    assert found.status == "fail"
    assert "off by 0.5 at token 2 (rollout 1, position 0): 0.5, where the reference has 0" in found.reason
    assert "the sum over tokens" in agreement(WHOLE, "loss", [1.0], [2.0], TOLERANCE).reason


def test_a_measurement_noisier_than_the_tolerance_warns_and_never_passes():
    found = agreement(TOKENS, "gradient_effect", [0.1], [0.105], TOLERANCE, noise=0.01)
    assert found.status == "warn"
    assert "0.01" in found.reason
    assert agreement(TOKENS, "gradient_effect", [0.1], [0.2], TOLERANCE, noise=0.01).status == "fail"
    assert agreement(TOKENS, "gradient_effect", [0.1], [0.1], TOLERANCE, noise=1e-6).status == "pass"


def test_nothing_compared_is_inconclusive():
    assert agreement(TOKENS, "gradient", [], [], TOLERANCE).status == "inconclusive"


@pytest.mark.parametrize("ours", [[math.nan], [math.inf]])
def test_what_is_no_number_fails_and_can_be_written_as_json(ours):
    found = agreement(TOKENS, "gradient", ours, [1.0], TOLERANCE)
    assert found.status == "fail"
    json.dumps(found.model_dump(), allow_nan=False)


def test_a_direction_fails_below_the_cosine_and_where_there_is_none():
    assert direction(TOKENS, "cosine", [1.0, 0.0], [1.0, 0.001], 0.9999).status == "pass"
    assert "0.7071" in direction(TOKENS, "cosine", [1.0, 0.0], [1.0, 1.0], 0.9999).reason
    assert "zero" in direction(TOKENS, "cosine", [0.0, 0.0], [1.0, 1.0], 0.9999).reason


def test_the_worst_is_the_one_furthest_beyond_its_allowance():
    far = agreement(TOKENS, "gradient", [0.001], [0.0], TOLERANCE)
    near = agreement(TOKENS, "loss", [1000.0], [998.0], TOLERANCE)
    assert worst([near, far]) == far
    assert worst([open_question("p", "m", "why")]) is None
