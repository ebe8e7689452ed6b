"""Plan formats 1 and 2, as their author wrote them: read and explained, never run.

What these formats say only in prose stays prose here; `analysis.plan.lints.fields_only_in_prose` lists it.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from analysis.plan.model import GenerationAudit
from analysis.plan.part import Count, PlanPart, Positive

Amount = Annotated[float, Field(ge=0.0)]


class LegacyBudget(PlanPart):
    """What the experiment may cost."""

    gpu_hours: Amount
    max_wall_minutes: Positive


class LegacyDataset(PlanPart):
    """Where the training items come from."""

    hf_path: str
    n_examples: Count
    name: str
    split: str


class LegacyEval(PlanPart):
    """What is measured at the end, on how many items."""

    benchmark: str
    metric: str
    n_examples: Count
    aggregation: str | None = None


class LegacyOptimizer(PlanPart):
    """The optimiser's name and learning rate: all that formats 1 and 2 have as fields of their own."""

    name: str
    lr: Positive


class LegacyPlan(PlanPart):
    """The blocks that formats 1 and 2 share."""

    title: str
    hypothesis: str
    method: str
    baseline: str
    command: str
    success_criterion: str
    base_model: str
    training_type: str
    lora_rank: Count
    batch_size: Count
    max_seq_len: Count
    steps: Count
    optimizer: LegacyOptimizer
    dataset: LegacyDataset
    eval: LegacyEval
    budget: LegacyBudget


class PlanV1(LegacyPlan):
    """Format 1: no decision rule, no gate, no arms."""


class LegacyCheck(PlanPart):
    """One limit of the activation gate."""

    metric: str
    measures: str
    min: float | None = None
    max: float | None = None
    one_of: list[str] | None = None


class LegacyGate(PlanPart):
    """What the pilot must show; the number of pilot steps is in the reason's prose."""

    applicable: bool
    reason: str
    checks: list[LegacyCheck]


class LegacyArm(PlanPart):
    """One training run. Which arm is the treatment is in prose."""

    name: str
    loss: str
    lr: Positive
    seed: Annotated[int, Field(ge=0)]
    updates_per_batch: Count


class Tolerance(PlanPart):
    """How far two numbers of the correctness preflight may differ."""

    atol: Amount
    rtol: Amount
    min_cosine: float | None = None


class CorrectnessPath(PlanPart):
    """One code path that is compared with a pinned reference and a pinned baseline."""

    id: str
    kind: str
    reference_revision: str
    baseline_revision: str
    tolerances: dict[str, Tolerance]


class CorrectnessPreflight(PlanPart):
    """The loss is compared with its references before any training."""

    required: bool
    status: str
    paths: list[CorrectnessPath]


class RestoredArm(PlanPart):
    """The optimiser that one arm must be found to have."""

    name: str
    optimizer: str
    optimizer_config: dict[str, float]


class RestorationGroup(PlanPart):
    """Arms that must start from the same state."""

    arms: list[RestoredArm]


class RestorationPreflight(PlanPart):
    """Both arms start alike, with the planned optimiser."""

    applicable: bool
    fixed_batch_required: bool
    reason: str
    groups: list[RestorationGroup]


class LegacyCriterion(PlanPart):
    """One contrast and its margin."""

    id: str
    metric: str
    bounds: tuple[float, float]
    margin: Amount
    weights: dict[str, float]


class LegacyDecisionRule(PlanPart):
    """The registered rule, version 1: no floor, no tie band."""

    version: Literal[1]
    method: str
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)]
    unit: Literal["fixed_checkpoint_items", "training_seeds"]
    estimand: str
    seeds: Annotated[list[int], Field(min_length=1)]
    criteria: Annotated[list[LegacyCriterion], Field(min_length=1)]


class FeasibilityCheck(PlanPart):
    """What was measured of the cost before the run."""

    status: str
    gpu_hours: Amount | None
    known_gpu_hours: Amount | None
    wall_seconds: Amount | None
    phases: dict[str, Any]
    problems: list[str]


class ExperimentFeatures(PlanPart):
    """Which machinery the experiment uses."""

    adaptive_selection: bool
    checkpoint_restore: bool
    custom_loss: bool
    custom_optimizer: bool
    generated_training_data: bool
    heldout_loss: bool
    learned_generator: bool
    paired_comparison: bool
    paired_training_arms: bool
    warmup_adaptation: bool


class PlanV2(LegacyPlan):
    """Format 2: arms, gate, preflights and a decision rule; the rollout and the losses are still prose."""

    primary_endpoint: str
    arms: Annotated[list[LegacyArm], Field(min_length=1)]
    activation_gate: LegacyGate
    decision_rule: LegacyDecisionRule
    correctness_preflight: CorrectnessPreflight | None = None
    restoration_preflight: RestorationPreflight | None = None
    experiment_features: ExperimentFeatures | None = None
    feasibility: dict[str, Any] | None = None
    feasibility_check: FeasibilityCheck | None = None
    feasibility_required: bool = False
    generation_audit: GenerationAudit | None = None
