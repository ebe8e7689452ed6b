"""`audit drift` as it is typed."""

import json
import re

import pytest
from made_run import active_tokens, evals, made_plan, right, tokens, write_outcomes, write_run


def test_the_table_has_both_arms_every_update_and_the_rules_of_both_losses(audit, tmp_path):
    run = write_run(tmp_path / "run")
    assert audit("drift", run).code == 0
    for arm in ("dppo", "grpo"):
        for update in (0, 1):
            assert re.search(rf"^{arm} +0 +1 +{update} +40 ", audit.out, re.M)
    assert re.search(r"^dppo +ratio=0\.2 +1 +0\.1 +8 +80 +0 of 2", audit.out, re.M)
    assert re.search(r"^grpo +binary_tv=0\.15 +1 +0\.1 +8 +80 +0 of 2", audit.out, re.M)
    assert "90th percentile of |dp|" in audit.out
    assert "watched: a warning where it rises by 0.001 or more" in audit.out


def test_any_rule_and_a_curve_over_its_threshold_can_be_asked(audit, tmp_path):
    run = write_run(tmp_path / "run")
    assert audit("drift", run, "--rule", "binary_kl=0.05", "--curve", "binary_tv").code == 0
    assert re.search(r"^dppo +binary_kl=0\.05 ", audit.out, re.M)
    assert re.search(r"^0\.2 +0\.1 +0\.1$", audit.out, re.M)
    assert re.search(r"^0\.25 +0 +0$", audit.out, re.M)


def test_json_keeps_the_contract_of_checks_and_has_every_row(audit, tmp_path):
    run = write_run(tmp_path / "run")
    assert audit("drift", run, "--format", "json", "--curve", "ratio").code == 0
    result = json.loads(audit.out)
    assert {"schema_version", "status", "checks", "rows", "rules", "curve"} <= set(result)
    assert len(result["rows"]) == 2 * 2 * 2
    assert {row["update"] for row in result["rows"]} == {0, 1}
    assert {(rule["arm"], rule["rule"]["kind"]) for rule in result["rules"]} == {
        (arm, kind) for arm in ("dppo", "grpo") for kind in ("ratio", "binary_tv")
    }
    assert all(check["limit"] is None for check in result["checks"])


@pytest.mark.parametrize("format", ["junit", "github"])
def test_for_ci_it_prints_the_checks(audit, tmp_path, format):
    assert audit("drift", write_run(tmp_path / "run"), "--format", format).code == 0
    assert "90th percentile" not in audit.out


def test_a_long_run_is_thinned_and_says_so(audit, tmp_path):
    run = write_run(tmp_path / "run", steps=30)
    assert audit("drift", run, "--rows", "8").code == 0
    assert "8 of 120 updates" in audit.out


def rising(arm, seed, step):
    columns = active_tokens(arm, seed, step)
    shift = 0.02 + (0.03 * (step - 14) if step > 14 else 0.0005 * (step % 3))
    moved = [s - shift if u == 0 else c for u, s, c in zip(*(columns[n] for n in ("update", "sampler_logprob", "current_logprob")), strict=True)]  # fmt: skip # noqa: E501
    return columns | {"current_logprob": moved}


def test_a_mismatch_that_rises_is_a_warning_with_its_onset_and_its_causes(audit, tmp_path):
    run = write_run(tmp_path / "run", steps=30, tokens_of=rising)
    assert audit("drift", run, "--format", "json").code == 0
    found = {(check["id"], check["arm"]): check for check in json.loads(audit.out)["checks"]}
    for arm in ("dppo", "grpo"):
        check = found["first_update_mismatch", arm]
        assert check["status"] == "warn"
        assert "from step 15 on" in check["reason"]
        assert "stale sampler weights" in check["mend"]


@pytest.mark.parametrize("name", ["drift.html", "drift.svg"])
def test_the_chart_is_one_file_that_asks_for_nothing(audit, tmp_path, name):
    run = write_run(tmp_path / "run", steps=12)
    assert audit("drift", run, "--chart", tmp_path / name).code == 0
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert "<script" not in text
    assert not re.search(r"(?:href|src)=", text)
    assert "var(--" not in text or name.endswith("html")


def test_a_chart_of_another_kind_is_refused(audit, tmp_path):
    assert ".html or .svg" in audit.refuses("drift", write_run(tmp_path / "run"), "--chart", tmp_path / "drift.png")


def test_without_a_token_log_it_says_what_writes_one(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [evals(right(2))]})
    assert "tokens was never logged" in audit.refuses("drift", run)


def test_rows_that_are_no_numbers_fail_and_have_no_figure(audit, tmp_path):
    def broken(arm, seed, step):
        return tokens([(0, -0.5, float("nan"), 1.0), (1, -0.5, float("nan"), 1.0), (1, -0.5, -0.4, 1.0)], step)

    assert audit("drift", write_run(tmp_path / "run", tokens_of=broken), "--format", "json").code == 1
    result = json.loads(audit.out)
    assert all(rule["share"] is None for rule in result["rules"])
    assert all(row["abs_p_q90"] is None for row in result["rows"])
    for entry in (*result["rows"], *result["rules"]):
        assert {key for key, value in entry.items() if value is None} == set(entry["null_reasons"])


def test_a_figure_that_the_plan_has_no_rule_for_says_so(audit, tmp_path):
    plan = made_plan(losses__grpo={**made_plan()["losses"]["dppo"], "delta": 0.3})
    plan["activation_gate"]["checks"] = [
        c for c in plan["activation_gate"]["checks"] if c["metric"] != "grpo_clip_fraction"
    ]
    assert audit("drift", write_run(tmp_path / "run", plan), "--format", "json").code == 0
    rows = json.loads(audit.out)["rows"]
    assert {(row["clip_share"], row["null_reasons"]["clip_share"]) for row in rows} == {
        (None, "the plan has no ratio clip")
    }


def test_an_unknown_engine_and_an_address_of_nothing_are_refused(audit, tmp_path):
    run = write_run(tmp_path / "run")
    assert 'did you mean "local"' in audit.refuses("drift", run, "--engine", "locl")
    assert "--engine local runs here" in audit.refuses("drift", run, "--address", "x:1")
