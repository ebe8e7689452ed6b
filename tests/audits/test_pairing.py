"""What breaks a pairing, and what is only missing evidence."""

from made_run import evals, right, write_outcomes

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def pairing(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "pairing")


def failed(n, n_errors):
    scores = [None] * n_errors + right(0, n - n_errors)
    return evals(scores, error=["no model"] * n_errors + [None] * (n - n_errors))


def test_an_evaluation_that_failed_everywhere_is_missing_evidence_and_no_accuracy(tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [failed(20, 20)], "treatment": [evals(right(4))]})
    found = pairing(run)
    assert (found.check.status, found.check.value) == ("inconclusive", 20.0)


def test_one_item_that_failed_is_a_failure(tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [failed(20, 19)], "treatment": [evals(right(4))]})
    assert pairing(run).check.status == "fail"


def test_a_seed_that_failed_everywhere_does_not_hide_another_fault(tmp_path):
    arms = {"baseline": [failed(20, 20), evals(right(3))], "treatment": [evals(right(4, 19)), evals(right(4))]}
    assert pairing(write_outcomes(tmp_path / "run", arms)).check.status == "fail"


def test_an_arm_that_nobody_evaluated_is_missing_evidence_and_its_twin_has_no_pair(tmp_path):
    path = write_outcomes(tmp_path / "run", {"baseline": [evals(right(3))], "treatment": [evals(right(4))]})
    kept = [line for line in (path / "files.jsonl").read_text().splitlines() if "arm=treatment" not in line]
    (path / "files.jsonl").write_text("".join(f"{line}\n" for line in kept))
    found = pairing(path)
    assert (found.check.status, found.rows[0][:4]) == ("inconclusive", ("not evaluated", None, "treatment", 0))
