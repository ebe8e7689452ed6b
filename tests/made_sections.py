"""Made-up inputs of the report's sections on items, power, cost and deviations."""

import math
from typing import Any

from analysis.paired.mcnemar import mcnemar_exact
from analysis.paired.methods import load_method
from analysis.plan.model import Budget
from analysis.power_answer import Observed, PowerAnswer, Study
from analysis.power_study import Row, Setting
from audits.engine.cost import Cost, PhaseCost
from audits.engine.deviations import Deviation, SettingDifference
from audits.engine.disagreements import Answer, Disagreements, ItemPair, LongText
from audits.store.preflights import Comparison

COUNTS = {"only_treatment": 171, "only_baseline": 116, "both": 702, "neither": 330}
SCORES = {"only_treatment": (1.0, 0.0), "only_baseline": (0.0, 1.0), "both": (1.0, 1.0), "neither": (0.0, 0.0)}


def answer(score: float = 1.0, said: str = "so it is 12", **changes: Any) -> Answer:
    values: dict[str, Any] = {
        "samples": 1, "extracted": LongText("12"), "extraction": "last_integer", "stop_reason": "stop", "n_tokens": 132,
        "completion": LongText(said),
    }  # fmt: skip
    return Answer(score, **{**values, **changes})


def item(number: int, cell: str = "only_treatment", said: str = "so it is 12") -> ItemPair:
    treatment, baseline = SCORES[cell]
    return ItemPair(
        f"{cell}-{number:04d}", cell, LongText("How many are 7 and 5?"), LongText("12"), answer(treatment, said),
        answer(baseline, said),
    )  # fmt: skip


def disagreements(said: str = "so it is 12", **changes: Any) -> Disagreements:
    kept = {"only_treatment": 100, "only_baseline": 100, "both": 6, "neither": 6}
    values: dict[str, Any] = {
        "treatment": "dppo_binary_tv", "baseline": "grpo_clip", "seeds": (0,), "most_samples": 1, "counts": COUNTS,
        "mcnemar_exact": mcnemar_exact(171, 116), "sql": "SELECT *\nFROM answers",
        "items": tuple(item(number, cell, said) for cell, n in kept.items() for number in range(n)),
    }  # fmt: skip
    return Disagreements(**{**values, **changes})


def power(**changes: Any) -> PowerAnswer:
    setting = Setting(load_method("paired_hoeffding"), 1319, margin=0.01)
    rows = [Row(share, 0.0748, gap) for share, gap in ((0.196, 0.0978), (0.2176, 0.0983), (0.241, 0.0987))]
    values: dict[str, Any] = {
        "studies": (Study(setting, rows, "decision_rule.criteria[0]"),),
        "observed": Observed("runs/full", 287, 1319, 0.196, 0.241),
        "notes": ("for right/wrong scores",),
    }
    return PowerAnswer(**{**values, **changes})


def cost(**changes: Any) -> Cost:
    values: dict[str, Any] = {
        "phases": (
            PhaseCost("dppo", 0, "checkpoint", 2, 0.5, None),
            PhaseCost("dppo", 0, "sample", 24, 120.0, 240_000),
            PhaseCost("dppo", 0, "train", 24, None, 480_000),
            PhaseCost("grpo", 0, "eval", 1, 60.0, 90_000),
        ),
        "wall_seconds": 1800.0,
        "pilot_wall_seconds": 600.0,
        "gpus": 1.0,
        "logged": ("phases", "rollouts", "updates", "evals"),
        "budget": Budget(gpu_hours=2.0, max_wall_minutes=120.0),
        "predicted": (
            Comparison(path="budget", metric="wall_minutes", status="pass", value=28.456, reference="Cox",
                       notes=["interval 28.5 [25, 33]", "from the pilot"]),
        ),
    }  # fmt: skip
    return Cost(**{**values, **changes})


def deviation(**changes: Any) -> Deviation:
    values: dict[str, Any] = {
        "run": "pilot", "kind": "waiver", "what": "restoration, inconclusive, is accepted", "source": "policy.json",
        "reason": "the service hides it", "owner": "A. Reviewer", "until": "2026-02-01",
    }  # fmt: skip
    return Deviation(**{**values, **changes})


def sections() -> dict[str, Any]:
    """Fields of `ReportInputs` for a usual run."""
    return {
        "disagreements": disagreements(),
        "power": power(),
        "cost": cost(),
        "deviations": (
            deviation(),
            Deviation("run", "interruption", "resumed after it was interrupted, at 04:00", "run.json, resumed"),
        ),
        "settings": (
            SettingDifference("rollout.group_size", "dppo", 0, "8", "4", "rollouts"),
            SettingDifference("evaluation.grader", None, None, "boxed_number", None, "nothing states it"),
        ),
    }


def without_numbers() -> dict[str, Any]:
    """The same where nothing has a number."""
    nan = math.nan
    study = Study(Setting(load_method("paired_hoeffding"), 3), [Row(0.5, nan, None)])
    fractional = ItemPair("a", "alike", None, None, answer(0.5, samples=4), answer(0.5, samples=4, completion=None))
    return {
        "disagreements": disagreements(
            counts={"only_treatment": 0, "only_baseline": 0, "alike": 1}, mcnemar_exact=None, items=(fractional,),
            most_samples=4,
        ),
        "power": power(studies=(study,), observed=None),
        "cost": cost(
            phases=(PhaseCost("a", 0, "sample", 0, nan, 0),), wall_seconds=None, pilot_wall_seconds=None, gpus=None,
            predicted=(Comparison(path="budget", metric="wall_minutes", status="inconclusive", reason="no step"),),
        ),
        "deviations": (),
        "settings": (),
    }  # fmt: skip


def hostile(text: str) -> dict[str, Any]:
    """The same where each text is this one; of a long text the engine keeps the ends."""
    long = LongText(text[:200], text[-400:], max(0, len(text) - 600))
    said = answer(1.0, extracted=long, extraction=text, stop_reason=text, completion=long)
    pairs = tuple(ItemPair(f"{text[:300]}{number}", "only_treatment", long, long, said, said) for number in range(100))
    setting = Setting(load_method("paired_hoeffding"), 9)
    predicted = Comparison(path=text, metric="gpu_hours", status="fail", value=text, reference=text, notes=[text])
    return {
        "disagreements": disagreements(treatment=text, baseline=text, sql=text, items=pairs),
        "power": power(
            studies=(Study(setting, [Row(0.5, 0.1, 0.2)], text), Study(setting, [Row(0.5, 0.1, None)], text)),
            observed=Observed(text, 3, 9, 0.1, 0.7), notes=(text,),
        ),
        "cost": cost(phases=(PhaseCost(text, 0, text, 1, 1.0, 1),), predicted=(predicted,)),
        "deviations": (Deviation(text, text, text, text, text, text, text),),
        "settings": (SettingDifference(text, text, 0, text, text, text),),
    }  # fmt: skip
