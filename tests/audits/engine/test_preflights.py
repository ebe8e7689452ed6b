"""Preflight results as checks."""

from made_run import made_plan, sealed, write_experiment

from audits.engine.preflights import preflight_report
from audits.engine.standing import standing_of
from audits.store.preflights import Comparison, PreflightResult, write_result
from audits.store.reader import open_run


def result(*comparisons, status="fail"):
    return PreflightResult(id="correctness", status=status, plan_sha256="a" * 64, comparisons=list(comparisons))


def comparison(**changes):
    values = {
        "path": "dppo/ratio/made_tokens/paper_ratio_form", "metric": "gradient", "status": "pass", "value": 1.0,
        "expected": 1.0, "largest_deviation": 0.25, "limit": {"max": 1.0}, "n": 138,
        "reference": "Eq. 12: re-implemented, not executed", "where": {"index": 7, "rollout": 2},
    }  # fmt: skip
    return Comparison(**{**values, **changes})


def test_a_comparison_is_a_check_with_its_deviation_limit_and_place(tmp_path):
    failed = comparison(status="fail", largest_deviation=2.0, value=3.0, reason="off by 2")
    report = preflight_report(tmp_path, [result(failed)])
    (check,) = report.checks
    assert check.id == "correctness/dppo/ratio/made_tokens/paper_ratio_form/gradient"
    assert (check.status, check.value, check.limit.max, check.rows_examined) == ("fail", 2.0, 1.0, 138)
    assert check.notes[0] == "ours 3, the reference 1, at token 7 (rollout 2)"
    assert check.reason == "off by 2"
    assert report.exit_code == 1


def test_brief_counts_what_passed_and_shows_the_rest(tmp_path):
    items = [comparison(), comparison(metric="loss", largest_deviation=0.9), comparison(metric="x", status="fail"),
             comparison(metric="y", reference="the service's ppo: executed")]  # fmt: skip
    summary, failed = preflight_report(tmp_path, [result(*items)], brief=True).checks
    assert (summary.id, summary.value, summary.denominator) == ("correctness", 3.0, 4)
    assert "paper_ratio_form, loss, at 0.9 of it" in summary.notes[0]
    assert summary.notes[1] == "references: 1 executed, 1 re-implemented, not executed"
    assert failed.id.endswith("/x")


def test_words_and_open_questions_are_shown_as_such(tmp_path):
    named = Comparison(path="optimizer", metric="name", status="pass", value="adam", expected="adamw",
                       limit={"one_of": ["adamw", "adam"]}, n=1)  # fmt: skip
    hidden = Comparison(path="service", metric="identity", status="not_applicable", reason="unverified: hidden")
    report = preflight_report(tmp_path, [result(named, hidden, status="pass")])
    assert report.checks[0].limit.admits("adam")
    assert (report.checks[1].value, report.checks[1].reason) == (None, "unverified: hidden")
    assert report.exit_code == 0


def test_without_a_result_nothing_passed(tmp_path):
    assert preflight_report(tmp_path, []).status == "inconclusive"


def test_a_result_that_says_pass_and_holds_a_failure_makes_the_claim_void(tmp_path):
    plan = made_plan(preflights__restoration__required=True)
    full, seal = write_experiment(tmp_path, plan), sealed(plan)

    def reasons(status):
        held = [Comparison(path="saved_state/restored", metric="logprob", status=status, reason="off by 2", n=1)]
        found = PreflightResult(id="restoration", status="pass", plan_sha256=seal.sha256, comparisons=held)
        write_result(tmp_path / "pilot", found)
        return standing_of(open_run(full), seal).void

    assert reasons("pass") == ()
    assert reasons("fail") == ("the restoration preflight is fail: saved_state/restored, logprob: off by 2",)
