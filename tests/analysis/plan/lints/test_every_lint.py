"""What every lint owes: documentation, a plan that triggers it and one that does not."""

from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.plan.finding import HEURISTIC
from analysis.plan.lint import all_lints, blocking, lint
from analysis.plan.parse import parse_plan

LINTS = {rule.id: rule for rule in all_lints()}


def test_lints_are_found_by_walking_the_folder():
    import analysis.plan.lints as folder

    files = {path.stem for path in Path(folder.__path__[0]).glob("*.py")} - {"__init__"}
    assert set(LINTS) == files
    assert len(files) >= 14


@pytest.mark.parametrize("lint_id", LINTS)
def test_lint_is_documented(lint_id):
    first_paragraph = LINTS[lint_id].documentation.split("\n\n")[0]
    assert len(first_paragraph) > 30
    assert first_paragraph.endswith(".")
    assert set(LINTS[lint_id].info.formats) <= {1, 2, 3}


@pytest.mark.parametrize("lint_id", LINTS)
def test_lint_has_a_plan_that_triggers_it_and_one_that_does_not(lint_id):
    path = Path(__file__).parent / f"test_{lint_id}.py"
    assert path.exists(), f"write {path.name} with a test_finds_… and a test_silent_…"
    module = loaded_module(path)
    names = [name for name in dir(module) if name.startswith("test_")]
    assert any(name.startswith("test_finds_") for name in names)
    assert any(name.startswith("test_silent_") for name in names)


def test_every_finding_is_complete_and_ordered_by_severity(v1, v2, resolved_v1, resolved_v2, demo):
    order = ["error", "warn", "note"]
    for document in (v1, v2, resolved_v1, resolved_v2, demo):
        found = lint(parse_plan(document, source="p"))
        assert found
        assert [finding.severity for finding in found] == sorted((f.severity for f in found), key=order.index)
        for finding in found:
            assert finding.lint in LINTS
            assert finding.path
            assert finding.message
            assert finding.mend


def test_what_rests_on_prose_says_so_and_nothing_else_does(v1, v2, resolved_v2):
    prose = 0
    for document in (v1, v2, resolved_v2):
        for finding in lint(parse_plan(document, source="p")):
            assert (HEURISTIC in finding.message) == (finding.reads == "prose")
            prose += finding.reads == "prose"
    assert prose > 20


def errors(document):
    return [finding.lint for finding in blocking(parse_plan(document, source="p"))]


def test_the_shipped_plans_have_no_error_but_the_tie_band_of_the_earliest(resolved_v1, resolved_v2, demo):
    assert (errors(resolved_v2), errors(demo)) == ([], [])
    assert errors(resolved_v1) == ["tie_band_uncertifiable"]


def test_what_blocks_is_what_the_lints_call_an_error(resolved_v1):
    found = [finding for finding in lint(parse_plan(resolved_v1, source="p")) if finding.severity == "error"]
    assert list(blocking(parse_plan(resolved_v1, source="p"))) == found
