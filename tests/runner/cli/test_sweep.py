"""`audit sweep`: what it refuses before anything runs, and what it prints."""

import json
import math

import made_run
import pytest

from analysis.learning_rate import ArmScore, RateTrial, choose
from audits.engine.curve import CheckpointScore
from runner.loop.sweep import Sweep


def _file(tmp_path, **changes):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(made_run.made_plan(**changes)), encoding="utf-8")
    return path


def test_a_plan_without_a_grid_is_refused_before_anything_runs(audit, tmp_path):
    said = audit.refuses("sweep", _file(tmp_path), "--out", tmp_path / "out")
    assert '"sweep": {"learning_rates"' in said
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_empty_is_refused(audit, tmp_path):
    plan = _file(tmp_path, sweep={"learning_rates": {"grpo": [0.1], "dppo": [0.1]}})
    assert "exists and is not empty" in audit.refuses("sweep", plan, "--out", tmp_path)


@pytest.fixture
def swept(monkeypatch):
    """Let the command find a sweep that needs no service: two rates with these gates."""
    from contextlib import nullcontext

    def pretend(*gates):
        trials = tuple(
            RateTrial(
                rate, gate, tuple(ArmScore(name, 0, 50, score, score - 0.1, score + 0.1) for name in ("grpo", "dppo"))
            )
            for rate, gate, score in zip((1e-4, 3e-4), gates, (0.4, 0.6), strict=True)
        )
        conditions = ("grpo", "dppo")
        base = CheckpointScore("base", 0, "base", 50, 0, 0.3, 0.2, 0.4, "clopper_pearson")
        found = Sweep(
            "0" * 64, conditions, base, trials, {1e-4: "lr=0.0001", 3e-4: "lr=0.0003"}, choose(trials, conditions)
        )
        monkeypatch.setattr("runner.loop.backend.open_backend", lambda *_: nullcontext(None))
        monkeypatch.setattr("runner.loop.sweep.run_sweep", lambda *_: found)

    return pretend


GRID = {"learning_rates": {"grpo": [1e-4, 3e-4], "dppo": [1e-4, 3e-4]}}


def test_the_table_shows_every_score_with_its_interval_the_rule_and_the_choice(audit, tmp_path, swept):
    swept("pass", "pass")
    audit("sweep", _file(tmp_path, sweep=GRID), "--out", tmp_path / "out")
    assert audit.code == 0, audit.err
    lines = audit.out.splitlines()
    assert lines[0] == "Validation items only"
    assert lines[2].split() == ["-", "base", "-", "0.300", "0.200", "to", "0.400", "50", "-"]
    assert lines[-3].split() == []
    assert "0.0003  dppo" in audit.out
    assert "Rule: of the rates whose pilot passed the activation gate" in audit.out
    assert "Chosen: 0.0003 for both arms: mean validation score 0.600" in audit.out


def test_where_the_rule_chooses_none_the_exit_code_is_4(audit, tmp_path, swept):
    swept("fail", "inconclusive")
    audit("sweep", _file(tmp_path, sweep=GRID), "--out", tmp_path / "out")
    assert audit.code == 4
    assert "Chosen: none: no rate's pilot passed" in audit.out


def test_json_is_the_written_table(audit, tmp_path, swept):
    swept("pass", "fail")
    audit("sweep", _file(tmp_path, sweep=GRID), "--out", tmp_path / "out", "--format", "json")
    table = json.loads(audit.out)
    assert table["chosen"]["learning_rate"] == 1e-4
    assert [rate["gate"] for rate in table["rates"]] == ["pass", "fail"]
    assert not any(isinstance(value, float) and math.isnan(value) for value in table.values())
