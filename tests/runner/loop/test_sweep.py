"""The learning-rate grid on the embedded service: what is trained, what is scored, what is written."""

import json
import math

import pyarrow.parquet as pq
import pytest

from analysis.errors import AuditError
from audits.store.reader import open_run
from audits.store.sweeps import SWEEP_NAME, sweep_table, sweep_text
from runner.loop.sweep import rate_plans, run_sweep

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

GRID = {"learning_rates": {"grpo": [0.003, 0.001], "dppo": [0.001, 0.003]}, "steps": 1}
LIMITS = [{"metric": "policy_drift_abs_p_q90", "measures": "drift", "min": 1e-9, "arm": "treatment", "update": 1}]


@pytest.fixture(scope="module")
def swept(backend, make_plan, tmp_path_factory):
    """A finished sweep: the sealed plan, its folder and what `run_sweep` returned."""
    from runner.loop.progress import LineProgress

    class Silent(LineProgress):
        def __init__(self):
            pass

        def note(self, text):
            pass

    plan = make_plan(sweep=GRID, activation_gate__checks=LIMITS)
    out = tmp_path_factory.mktemp("sweep")
    return plan, out, run_sweep(plan, out, backend, Silent())


def test_every_rate_trains_every_arm_as_planned(swept):
    _, out, sweep = swept
    assert [trial.learning_rate for trial in sweep.trials] == [0.001, 0.003]
    for trial in sweep.trials:
        run = open_run(out / sweep.runs[trial.learning_rate])
        assert {arm.condition for arm in trial.arms} == {"grpo", "dppo"}
        for arm in ("grpo", "dppo"):
            paths = sorted((run.path / f"updates/arm={arm}/seed=0").glob("*.parquet"))
            assert [path.stem for path in paths] == ["step=000000"]
            rates = pq.read_table(paths[0], partitioning=None).to_pydict()["learning_rate"]
            assert rates == [trial.learning_rate] * 2


def test_no_test_item_is_touched(swept):
    _, out, sweep = swept
    for name in sweep.runs.values():
        table = pq.read_table(out / name / "prompts.parquet", partitioning=None).to_pydict()
        split_of = dict(zip(table["prompt_id"], table["split"], strict=True))
        for path in (out / name).rglob("evals/*/*/*.parquet"):
            items = pq.read_table(path, partitioning=None).to_pydict()["item_id"]
            assert {split_of[item] for item in items} == {"validation"}
            assert len(items) == 6


def test_the_table_is_written_with_the_rule_and_what_it_chooses(swept):
    plan, out, sweep = swept
    table = json.loads((out / SWEEP_NAME).read_text(encoding="utf-8"))
    assert table == json.loads(json.dumps(sweep.as_json()))
    assert (table["plan_sha256"], table["split"], table["conditions"]) == (plan.sha256, "validation", ["grpo", "dppo"])
    assert table["base"]["score"] is not None
    read = sweep_table(out, sweep_text(out))
    assert (read.is_of(plan), read.chosen.learning_rate) == (True, sweep.choice.learning_rate)
    assert [(rate.learning_rate, len(rate.arms)) for rate in read.rates] == [(0.001, 2), (0.003, 2)]
    for rate in table["rates"]:
        assert rate["gate"] == "pass"
        assert rate["mean_score"] == pytest.approx(sum(arm["score"] for arm in rate["arms"]) / 2)
        assert all(0 <= arm["lower"] <= arm["score"] <= arm["upper"] <= 1 for arm in rate["arms"])
        assert {arm["items"] for arm in rate["arms"]} == {6}
    best = max(table["rates"], key=lambda rate: (rate["mean_score"], -rate["learning_rate"]))
    assert table["chosen"]["learning_rate"] == best["learning_rate"]
    assert "gate" in table["rule"]


def test_each_rates_plan_differs_in_the_rate_and_names_the_swept_plan(swept):
    plan, out, sweep = swept
    for rate, name in sweep.runs.items():
        own = open_run(out / name).sealed.plan
        assert own.supersedes == plan.sha256
        assert own.optimizer.model_dump() == {**plan.plan.optimizer.model_dump(), "learning_rate": rate}
        assert own.sweep is None
        assert own.activation_gate.pilot_steps == 1
        unchanged = {"losses", "arms", "task", "rollout", "evaluation", "decision_rule", "base_model"}
        assert own.model_dump(include=unchanged) == plan.plan.model_dump(include=unchanged)


def test_a_score_that_is_no_number_is_null(swept):
    from dataclasses import replace

    _, _, sweep = swept
    (first, *rest) = sweep.trials
    broken = tuple(replace(arm, score=math.nan, lower=math.nan, upper=math.nan) for arm in first.arms)
    table = replace(sweep, trials=(replace(first, arms=broken), *rest)).as_json()
    assert table["rates"][0]["mean_score"] is None
    assert table["rates"][0]["arms"][0]["score"] is None
    json.dumps(table, allow_nan=False)


def test_a_condition_that_has_no_grid_is_not_trained(make_plan):
    arms = [
        {"name": name, "role": role, "condition": name, "seed": 0, "loss": loss}
        for name, role, loss in [
            ("grpo", "baseline", "grpo"),
            ("dppo", "treatment", "dppo"),
            ("control", "other", "grpo"),
        ]
    ]
    (plan,) = rate_plans(make_plan(arms=arms, sweep={"learning_rates": {"grpo": [0.1], "dppo": [0.1]}})).values()
    assert [arm.name for arm in plan.plan.arms] == ["grpo", "dppo"]
    assert plan.plan.activation_gate.pilot_steps == 2


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (None, "has no learning-rate grid"),
        ({"learning_rates": {}}, "has no learning-rate grid"),
        ({"learning_rates": {"grpo": [0.1], "dppo": [0.2]}}, "choose from different learning rates"),
        ({"learning_rates": {"dppo": [0.2]}}, "choose from different learning rates"),
    ],
)
def test_a_grid_that_is_missing_or_unequal_is_refused(make_plan, sweep, message):
    with pytest.raises(AuditError, match=message):
        rate_plans(make_plan(sweep=sweep))
