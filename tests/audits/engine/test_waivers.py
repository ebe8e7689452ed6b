"""A waiver accepts one check as it is, by name and until a day; anything else stays what it was."""

import datetime
import json
import re

import pytest
from made_run import active_tokens, gate_check, made_plan, tokens, updates, write_run

from analysis.errors import AuditError
from audits.engine.check import Check, Limit
from audits.engine.gate import evaluate_gate
from audits.engine.waivers import apply_waivers
from audits.store.policy import Waiver, read_waivers
from audits.store.reader import open_run

TODAY = datetime.date(2026, 5, 1)
WAIVER = {
    "check": "share", "arm": "dppo", "status": "fail", "value": 0.5, "reason": "a known fault", "owner": "Ada",
    "expires": "2026-05-01",
}  # fmt: skip


def waiver(**changes):
    return Waiver.model_validate(WAIVER | changes)


def check(status="fail", value=0.5, limit=None, arm="dppo", check_id="share"):
    return Check(
        id=check_id, status=status, value=value, limit=limit or Limit(max=0.2), unit="share", definition="x@y/z",
        arm=arm, rows_examined=9, reason="above the largest value",
    )  # fmt: skip


def after(found, *waivers, today=TODAY):
    (result,), notes = apply_waivers([found], waivers, today)
    assert (result.id, result.value, result.limit) == (found.id, found.value, found.limit)
    return result, notes


def test_a_waiver_covers_its_check_up_to_and_with_the_day_it_expires():
    result, notes = after(check(), waiver())
    assert (result.status, notes) == ("waived", [])
    assert result.reason == "above the largest value; waived by Ada until 2026-05-01: a known fault"


def test_an_expired_waiver_covers_nothing_and_says_so():
    result, _ = after(check(), waiver(), today=TODAY + datetime.timedelta(days=1))
    assert (result.status, result.reason) == (
        "fail",
        "above the largest value; the waiver of Ada expired on 2026-05-01",
    )


@pytest.mark.parametrize(
    ("limit", "value", "waived", "status"),
    [
        (Limit(max=0.2), 0.50001, 0.5, "fail"),
        (Limit(max=0.2), 0.4, 0.5, "waived"),
        (Limit(min=0.2), 0.05, 0.1, "fail"),
        (Limit(min=0.2), 0.15, 0.1, "waived"),
        (Limit(0.2, 0.4), 0.1, 0.6, "waived"),  # on the other side of the limits, and less far outside
        (Limit(0.2, 0.4), 0.0, 0.5, "fail"),
        (Limit(one_of=("2",)), 1.0, 1.0, "waived"),
        (Limit(one_of=("2",)), 4.0, 1.0, "fail"),
        (Limit(one_of=("a",)), "b", "b", "waived"),
        (Limit(one_of=("a",)), "c", "b", "fail"),
        (Limit(one_of=("a",)), "b", 1, "fail"),
        (Limit(one_of=("2",)), 1.0, 1, "waived"),
    ],
)
def test_a_figure_that_became_worse_is_not_covered(limit, value, waived, status):
    result, _ = after(check(value=value, limit=limit), waiver(value=waived))
    assert result.status == status
    if status == "fail":
        assert re.match(r"above the largest value; \S+ is worse than ", result.reason)
        assert result.reason.endswith(", which Ada waived")


def test_a_waiver_without_a_value_covers_only_a_check_without_one():
    result, _ = after(check(value=0.5), waiver(value=None))
    assert result.status == "fail"
    assert result.reason.endswith("the waiver of Ada names no value, and the check has one")
    assert after(check(value=None), waiver(value=None))[0].status == "waived"


def test_a_waiver_of_a_value_does_not_cover_numbers_that_give_no_figure():
    result, _ = after(check(value=None), waiver(value=0.5))
    assert result.status == "fail"
    assert "is of the value 0.5, and the check has none" in result.reason


@pytest.mark.parametrize(
    "changes", [{"arm": "grpo"}, {"arm": None}, {"check": "shares"}], ids=["other arm", "no arm", "other check"]
)
def test_a_waiver_of_another_check_covers_nothing_and_is_told(changes):
    result, notes = after(check(), waiver(**changes))
    assert result == check()
    named = changes.get("check", "share") + {"grpo": " (grpo)", None: ""}.get(changes.get("arm", "dppo"), " (dppo)")
    assert notes == [f"policy.json: the waiver of Ada is on {named}, and there is no such check here: share (dppo)"]


def test_missing_evidence_is_waived_only_by_a_waiver_of_missing_evidence():
    missing = check("inconclusive", value=None)
    assert after(missing, waiver(status="inconclusive", value=None))[0].status == "waived"
    result, _ = after(missing, waiver(value=None))
    assert (result.status, result.reason) == (
        "inconclusive",
        "above the largest value; the waiver of Ada is of status fail",
    )
    result, _ = after(check(), waiver(status="inconclusive"))
    assert (result.status, result.reason) == (
        "fail",
        "above the largest value; the waiver of Ada is of status inconclusive",
    )


@pytest.mark.parametrize("status", ["pass", "warn", "not_applicable"])
def test_a_waiver_that_is_not_needed_changes_no_status_and_is_noted(status):
    result, _ = after(check(status), waiver())
    assert result.status == status
    assert result.notes == ("a waiver of Ada stands on it and is not needed",)


@pytest.mark.parametrize("order", [1, -1])
def test_one_of_several_waivers_is_enough_in_any_order(order):
    several = [
        waiver(),
        waiver(status="inconclusive", value=None, owner="Bo"),
        waiver(owner="Cy", expires="2026-04-01"),
    ]
    result, notes = after(check(), *several[::order])
    assert (result.status, notes) == ("waived", [])
    assert "waived by Ada" in result.reason
    result, _ = after(check(value=0.9), *several[::order])
    assert result.status == "fail"
    for said in ("worse than 0.5, which Ada waived", "Bo is of status inconclusive", "Cy expired on 2026-04-01"):
        assert said in result.reason


# --- through the gate: statuses, reasons and exit codes


def failing(path, waivers=None, **options):
    """Write a pilot whose mask is never reached, with these waivers in its policy."""
    calm = tokens([(0, -0.5, -0.501, 1.0)] * 20 + [(1, -0.5, -0.42, 1.0)] * 20)

    def tokens_of(arm, seed, step):
        return calm | {"step": [step] * 40}

    plan = made_plan()
    plan["activation_gate"]["checks"] = [gate_check(plan, "dppo_masked_token_fraction")]
    run = write_run(path / "run", plan, **({"tokens_of": tokens_of} | options))
    if waivers is not None:
        (run / "policy.json").write_text(json.dumps({"waivers": waivers}))
    return run


def masked_waiver(**changes):
    given = {"check": "dppo_masked_token_fraction", "value": 0.0, "expires": "9999-12-31"}
    return WAIVER | given | changes


def gate_json(audit, run, code):
    assert audit("gate", run, "--format", "json").code == code, audit.out
    found = json.loads(audit.out)
    (own,) = (row for row in found["checks"] if row["id"] == "dppo_masked_token_fraction")
    return found["status"], own


def test_a_waived_gate_is_waived_and_exits_0(audit, tmp_path):
    status, own = gate_json(audit, failing(tmp_path, [masked_waiver()]), 0)
    assert (status, own["status"], own["value"]) == ("waived", "waived", 0.0)
    assert "did not fire" in own["reason"]
    assert "waived by Ada until 9999-12-31: a known fault" in own["reason"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expires": "2020-01-01"}, "expired on 2020-01-01"),
        ({"value": None}, "names no value"),
        ({"value": 0.01}, "worse than 0.01"),
        ({"status": "inconclusive"}, "of status inconclusive"),
        ({"arm": "grpo"}, "no such check here"),
    ],
)
def test_a_waiver_that_does_not_hold_leaves_the_gate_failed(audit, tmp_path, changes, said):
    status, own = gate_json(audit, failing(tmp_path, [masked_waiver(**changes)]), 1)
    assert (status, own["status"]) == ("fail", "fail")
    assert said in audit.out


def test_missing_evidence_can_be_waived_check_by_check(tmp_path):
    accepted = [
        masked_waiver(status="inconclusive", value=None),
        masked_waiver(status="inconclusive", check="executed_steps", arm=None, value=0.0),
    ]
    run = open_run(failing(tmp_path, accepted, tokens_of=None))
    statuses = {found.id: found.status for found in evaluate_gate(run, run.sealed.plan).checks}
    assert statuses["dppo_masked_token_fraction"] == "waived"
    assert statuses["executed_steps"] == "waived"


def test_the_day_is_utc_and_can_be_given(tmp_path):
    run = open_run(failing(tmp_path, [masked_waiver(expires="2026-05-01")]))
    for day, status in ((TODAY, "waived"), (TODAY + datetime.timedelta(days=1), "fail")):
        assert evaluate_gate(run, run.sealed.plan, today=day).status == status


def test_another_model_than_the_one_that_was_waived_fails(tmp_path):
    plan = made_plan()
    plan["activation_gate"]["checks"] = [gate_check(plan, "executed_base_model")]
    for model, status in (("other", "waived"), ("third", "fail")):
        path = write_run(
            tmp_path / model / "run", plan, tokens_of=active_tokens,
            updates_of=lambda arm, seed, step, model=model: updates(step, base_model=model),
        )  # fmt: skip
        accepted = [masked_waiver(check="executed_base_model", arm=arm, value="other") for arm in ("dppo", "grpo")]
        (path / "policy.json").write_text(json.dumps({"waivers": accepted}))
        run = open_run(path)
        assert evaluate_gate(run, run.sealed.plan).status == status


NOT_A_NUMBER = json.dumps({"waivers": [masked_waiver()]}).replace('"value": 0.0', '"value": %s')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not readable as JSON"),
        ("[" * 100_000, "not readable as JSON"),
        ("[]", "the whole file"),
        ('{"waiver": []}', "waiver"),
        (json.dumps({"waivers": [WAIVER | {"expires": "2026-02-30"}]}), "waivers.0.expires"),
        (json.dumps({"waivers": [{k: v for k, v in WAIVER.items() if k != "owner"}]}), "waivers.0.owner"),
        (json.dumps({"waivers": [WAIVER | {"reason": " "}]}), "waivers.0.reason"),
        (json.dumps({"waivers": [WAIVER, WAIVER | {"status": "warn"}]}), "waivers.1.status"),
        (json.dumps({"waivers": [WAIVER | {"until": "x"}]}), "waivers.0.until"),
        (NOT_A_NUMBER % "NaN", "waivers.0.value"),
        (NOT_A_NUMBER % "-Infinity", "waivers.0.value"),
        (NOT_A_NUMBER % "1e999", "waivers.0.value"),
    ],
)
def test_a_policy_that_cannot_be_read_is_an_error_and_never_an_empty_policy(audit, tmp_path, text, said):
    run = failing(tmp_path)
    (run / "policy.json").write_text(text)
    error = audit.refuses("gate", run)
    assert said in error
    assert "policy.json" in error


def test_a_policy_that_is_no_text_is_an_error_and_a_missing_one_is_none(tmp_path):
    assert read_waivers(tmp_path) == ()
    (tmp_path / "policy.json").write_bytes(b"\xff\xfe")
    with pytest.raises(AuditError, match="not readable"):
        read_waivers(tmp_path)
