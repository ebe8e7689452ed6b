"""What the report gathers of a run."""

import pytest
from made_run import change_json, made_plan, right, sealed, write_experiment, write_outcomes
from made_run import evals as outcomes_of

from audits.store.looks import read_looks
from audits.store.preflights import Comparison, PreflightResult, write_result
from audits.store.reader import open_run
from runner.pages import build_page, report_inputs


def words(page):
    return repr(page)


def gate_tables(run):
    page = build_page(open_run(run))
    return {table.caption: table for item in page.sections if item.id == "gate" for table in item.tables}


@pytest.fixture
def full(tmp_path):
    return write_experiment(tmp_path)


def test_the_full_run_s_own_activation_stands_beside_the_pilot_s(full):
    table = gate_tables(full)["The same figures in the full run itself, where nothing is gated"]
    row = next(row for row in table.rows if row[0] == "dppo_masked_token_fraction")
    assert row[1] == "dppo"
    assert row[2].startswith("0.1 ")
    assert row[3].startswith("0.1 ")
    assert "0 of 3 steps at zero" in row[4]


def test_a_pilot_speaks_of_itself_only(full):
    assert not [caption for caption in gate_tables(full.parent / "pilot") if "full run" in caption]


def test_a_page_is_no_look_and_the_same_run_gives_the_same_page(full):
    first = words(build_page(open_run(full)))
    assert first == words(build_page(open_run(full)))
    assert read_looks(full) == ()


def test_a_run_that_was_resumed_or_bore_faults_says_so_and_any_other_says_nothing(full):
    before = words(build_page(open_run(full)))
    assert "interrupted and resumed" not in before
    assert "service faults" not in before
    attempts = [{"at": "2026-01-02T04:00:00+00:00", "was": "interrupted"}, {"at": "2026-01-02T05:00:00+00:00"}]
    change_json(full / "run.json", resumed=attempts, service_faults=3)
    page = words(build_page(open_run(full)))
    assert "2 times: 2026-01-02T04:00:00+00:00, 2026-01-02T05:00:00+00:00" in page
    assert "('service faults borne', '3')" in page


def test_imported_outcomes_have_a_decision_and_no_gate(tmp_path):
    arms = {"treatment": [outcomes_of(right(20))], "baseline": [outcomes_of(right(0))]}
    page = build_page(open_run(write_outcomes(tmp_path / "run", arms)))
    assert page.verdict == "validated"
    assert "no sealed plan" in words(page)


def test_the_pilot_s_preflights_stand_beside_the_full_run(tmp_path):
    plan = made_plan(preflights__restoration__required=True, preflights__correctness__required=True)
    full = write_experiment(tmp_path, plan)
    failed = Comparison(path="saved_state/restored", metric="logprob", status="fail", largest_deviation=0.5,
                        limit={"max": 1e-6}, n=19, reason="off by 0.5 at token 3")  # fmt: skip
    write_result(
        tmp_path / "pilot",
        PreflightResult(id="restoration", status="fail", plan_sha256=sealed(plan).sha256, comparisons=[failed]),
    )
    page = words(build_page(open_run(full)))
    assert "restoration/saved_state/restored/logprob" in page
    assert "off by 0.5 at token 3" in page
    assert "The plan requires correctness, restoration." in page
    assert "No result of the correctness preflight is there." in page


def test_a_preflight_of_another_plan_is_named_as_such(tmp_path):
    full = write_experiment(tmp_path)
    write_result(tmp_path / "pilot", PreflightResult(id="restoration", status="pass", plan_sha256="0" * 64))
    page = words(build_page(open_run(full)))
    assert "The plan requires no preflight." in page
    assert "The restoration preflight was made for another plan." in page


def test_a_run_whose_outcomes_allow_no_decision_has_a_page_that_says_why(tmp_path):
    run = write_experiment(tmp_path, scores={"grpo": right(5, 20), "dppo": right(5, 17)})
    page = build_page(open_run(run))
    banner = page.groups[0].sections[0]
    assert page.verdict == "none"
    assert "the pairing is broken (3 faults)" in banner.reasons[0]
    assert "item item-017 in arm dppo" in banner.reasons[1]


def test_source_files_are_told_one_a_line_with_size_and_digest(tmp_path):
    run = write_experiment(tmp_path)
    files = [{"name": f"part{number}.jsonl", "bytes": 12345, "sha256": "ab" * 32} for number in range(23)]
    change_json(run / "run.json", source={"importer": "outcomes", "files": files, "notes": ["one", "two"]})
    facts = report_inputs(open_run(run)).provenance
    assert facts["source importer"] == "outcomes"
    assert facts["source file 2"] == "part1.jsonl, 12,345 bytes, sha256 " + "ab" * 32
    assert facts["further source files"] == "3, listed in run.json"
    assert facts["source notes"] == "one; two"
    assert not any("{" in value for name, value in facts.items() if name.startswith("source"))
