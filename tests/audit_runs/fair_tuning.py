"""Runs whose rate was swept: the best one inside the grid, and one whose treatment would want a larger one still."""

import json

from executed_run import small_plan, write_executed
from made_run import sealed

FAULTS = {1}
GRID = [1e-4, 1e-3, 1e-2]
INSIDE = {1e-4: 0.2, 1e-3: 0.6, 1e-2: 0.3}


def swept_plan(grpo=GRID, dppo=GRID, **changes):
    """A plan that uses 1e-3 and names the grid that it is from."""
    return small_plan(sweep={"learning_rates": {"grpo": list(grpo), "dppo": list(dppo)}}, **changes)


def table(plan, grpo, dppo, *, chosen=1e-3, gates=None, **changes):
    """What `audit sweep` writes: scores by rate of both arms."""
    rates = [
        {
            "learning_rate": rate, "gate": (gates or {}).get(rate, "pass"),
            "arms": [
                {"condition": condition, "seed": 0, "items": 10, "score": scores[rate]}
                for condition, scores in (("grpo", grpo), ("dppo", dppo)) if rate in scores
            ],
        }
        for rate in sorted({*grpo, *dppo})
    ]  # fmt: skip
    said = {"plan_sha256": sealed(plan).sha256, "split": "validation", "rates": rates}
    return {**said, "chosen": {"learning_rate": chosen, "reason": "highest"}, **changes}


def swept(path, grpo=INSIDE, dppo=INSIDE, plan=None, **changes):
    """A run of a swept plan that holds the sweep's table."""
    plan = plan or swept_plan()
    write_executed(path, plan)
    (path / "sweep.json").write_text(json.dumps(table(plan, grpo, dppo, **changes)), encoding="utf-8")
    return path


def passing(path):
    return swept(path)


def failing(path, faulty):
    return swept(path, dppo={1e-4: 0.2, 1e-3: 0.6, 1e-2: 0.7})
