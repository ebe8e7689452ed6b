"""What the report gathers of a run."""

import pytest
from made_run import evals as outcomes_of
from made_run import right, write_experiment, write_outcomes

from audits.store.looks import read_looks
from audits.store.reader import open_run
from runner.pages import build_page


def words(page):
    return repr(page)


@pytest.fixture
def full(tmp_path):
    return write_experiment(tmp_path)


def test_the_full_run_s_own_activation_stands_beside_the_pilot_s(full):
    page = words(build_page(open_run(full)))
    assert "In the full run itself, where nothing is gated: dppo_masked_token_fraction (dppo) 0.1" in page
    assert "0 of 3 steps at zero" in page


def test_a_pilot_speaks_of_itself_only(full):
    assert "In the full run itself" not in words(build_page(open_run(full.parent / "pilot")))


def test_a_page_is_no_look_and_the_same_run_gives_the_same_page(full):
    first = words(build_page(open_run(full)))
    assert first == words(build_page(open_run(full)))
    assert read_looks(full) == ()


def test_imported_outcomes_have_a_decision_and_no_gate(tmp_path):
    arms = {"treatment": [outcomes_of(right(20))], "baseline": [outcomes_of(right(0))]}
    page = build_page(open_run(write_outcomes(tmp_path / "run", arms)))
    assert page.verdict == "validated"
    assert "no sealed plan" in words(page)
