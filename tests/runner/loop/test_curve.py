"""The curve of a full run: points on validation items only, the base model first, the final weights last."""

import pyarrow.parquet as pq
import pytest

from analysis.plan.model import Curve
from runner.loop.evaluation import is_curve_point, step_checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

LIMITS = [{"metric": "policy_drift_abs_p_q90", "measures": "drift", "min": 1e-9, "arm": "treatment", "update": 1}]


def test_every_kth_step_and_the_last_are_points():
    curve = Curve(every_steps=2)
    assert [steps for steps in range(6) if is_curve_point(curve, steps, 5)] == [0, 2, 4, 5]
    assert not any(is_curve_point(None, steps, 5) for steps in range(6))
    assert step_checkpoint(50) == "step000050"


def test_a_full_run_logs_its_curve_on_validation_items_and_touches_test_items_once(run_small, make_plan, tmp_path):
    plan = make_plan(
        activation_gate__checks=LIMITS,
        activation_gate__pilot_steps=1,
        rollout__rollout_batches=3,
        evaluation__curve={"every_steps": 2, "items": 4},
    )
    pilot = run_small(plan, "pilot", tmp_path / "pilot")
    assert {path.stem for path in pilot.rglob("evals/*/*/*.parquet")} == {"checkpoint=base", "checkpoint=final"}
    full = run_small(plan, "full", tmp_path / "full")
    table = pq.read_table(full / "prompts.parquet", partitioning=None).to_pydict()
    split_of = dict(zip(table["prompt_id"], table["split"], strict=True))
    seen = {}
    for path in full.rglob("evals/*/*/*.parquet"):
        rows = pq.read_table(path, partitioning=None).to_pydict()
        (checkpoint,) = set(rows["checkpoint"])
        (split,) = {split_of[item] for item in rows["item_id"]}
        seen[path.parent.parent.name.removeprefix("arm="), checkpoint] = (split, len(rows["item_id"]))
    arms = {
        (arm, name): value
        for arm in ("grpo", "dppo")
        for name, value in {
            "step000002": ("validation", 4),
            "step000003": ("validation", 4),
            "final": ("test", 8),
        }.items()
    }
    assert seen == {("base", "step000000"): ("validation", 4), ("base", "base"): ("test", 8)} | arms
    phases = pq.read_table(full / "phases/arm=dppo/seed=0/step=000002.parquet", partitioning=None).to_pydict()
    assert phases["phase"] == ["checkpoint", "eval", "sample", "train", "checkpoint"]
