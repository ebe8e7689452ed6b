"""Plan format 3: every setting that a run needs is a field.

Formats 1 and 2 are read by `analysis.plan.legacy`; they say in prose what format 3 says in fields.
All models are frozen and refuse unknown keys: a misspelt setting must never be ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from analysis.plan.advantages import Advantage, AdvantageMeasurement
from analysis.plan.part import Count, Decay, PlanPart, Positive

MAX_SEED = 10**15 - 1  # what the path of a data file can hold
MAX_UPDATES = 127  # the format's column `update` is one byte

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=64)]


class Rollout(PlanPart):
    """How a batch is sampled and split: one batch a rollout step, `updates_per_batch` optimiser steps on it."""

    groups_per_batch: Count = Field(description="prompts a batch; each has one group of samples")
    group_size: Annotated[int, Field(ge=2)] = Field(
        description="samples a prompt; the advantage is the reward minus the group's mean"
    )
    temperature: Positive = Field(description="of sampling in training")
    max_tokens: Count = Field(description="largest number of new tokens of a sample")
    renderer: str = Field(description="the chat renderer, or 'plain' where the prompt is sent as it is")
    stop: list[str] = Field(default_factory=list, description="extra stop strings; the end token always stops")
    updates_per_batch: Annotated[int, Field(ge=1, le=MAX_UPDATES)] = Field(
        description="optimiser steps on each batch; the batch is split by group"
    )
    rollout_batches: Count = Field(description="batches of the full run; times updates_per_batch: its optimiser steps")


class Loss(PlanPart):
    """One policy loss; the arms' losses may differ, everything else may not.

    The token loss is ``-(r*A)`` with r = exp(current_logprob - anchor_logprob), clipped (`ratio_clip`, with
    `eps`) or masked (`divergence_mask`, with `divergence`, `delta` and for a top-k divergence `top_k`). A `preference`
    loss (DPO, with `beta`) compares a right with a wrong completion of one group and knows no advantage.
    """

    kind: Literal["ratio_clip", "divergence_mask", "preference"]
    form: Literal["ratio", "score"] = Field(
        description="ratio: r is differentiable; score: r is detached and multiplies log pi. "
        "Same gradient, other value."
    )
    eps: Positive | None = Field(default=None, description="ratio_clip: r is clipped to [1 - eps, 1 + eps]")
    delta: Positive | None = Field(
        default=None,
        description="divergence_mask: a token is masked above it, in the direction that its advantage pushes",
    )
    divergence: Literal["binary_tv", "binary_kl", "topk_tv", "topk_kl"] | None = Field(
        default=None,
        description="divergence_mask, sampler against current: binary_* of the sampled token against all others, "
        "topk_* of the sampler's top_k most probable tokens, the sampled one and the rest together",
    )
    top_k: Annotated[int, Field(ge=2, le=20)] | None = Field(
        default=None, description="topk_tv and topk_kl: how many of the sampler's most probable tokens are told apart"
    )
    beta: Positive | None = Field(default=None, description="preference: how strongly the base model holds")
    kl_coefficient: Positive | None = Field(
        default=None,
        description="ratio_clip: times r - 1 - log r, an estimate of KL(mu || pi), is added; null: nothing",
    )
    anchor: Literal["sampler", "base"] = Field(
        description="whose probability stands in the denominator of r; preference compares with the base model"
    )
    truncation: Positive | None = Field(description="largest ratio that multiplies the advantage; null: none")
    reduction: Literal["token_sum"] = Field(description="token_sum: summed over loss tokens, no mean anywhere")

    @model_validator(mode="after")
    def _parameters_fit_the_kind(self) -> "Loss":
        if self.kind == "preference":
            self._is_preference()
        elif self.beta is not None or self.anchor != "sampler":
            raise ValueError("beta and the anchor base belong to a preference loss")
        elif self.kind == "ratio_clip":
            if self.eps is None or self.delta is not None or self.divergence is not None:
                raise ValueError("a ratio_clip loss has eps, and neither delta nor divergence")
            if self.form != "ratio":
                raise ValueError("a ratio_clip loss exists in the ratio form only")
            if self.truncation is not None and self.truncation < 1.0 + self.eps:
                raise ValueError("truncation below 1 + eps acts before the clip: the clip share would mean nothing")
        elif self.eps is not None or self.delta is None or self.divergence is None:
            raise ValueError("a divergence_mask loss has divergence and delta, and no eps")
        if (self.divergence in ("topk_tv", "topk_kl")) != (self.top_k is not None):
            raise ValueError("topk_tv and topk_kl need top_k, and nothing else has it")
        if self.kl_coefficient is not None and self.kind != "ratio_clip":
            raise ValueError("kl_coefficient belongs to a ratio_clip loss")
        return self

    def _is_preference(self) -> None:
        others = (self.eps, self.delta, self.divergence, self.truncation)
        if self.beta is None or any(value is not None for value in others):
            raise ValueError("a preference loss has beta, and neither eps, delta, divergence nor truncation")
        if self.anchor != "base" or self.form != "ratio":
            raise ValueError("a preference loss has the anchor base and the form ratio")


class Arm(PlanPart):
    """One training run: a condition (the treatment or what it is compared with) under one seed."""

    name: Name
    role: Literal["baseline", "treatment", "other"] = Field(description="what the contrast weighs")
    condition: Name
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    loss: str = Field(description="an id under losses")
    advantage: str | None = Field(
        default=None, description="an id under advantages; null: the reward minus the group's mean"
    )

    @model_validator(mode="after")
    def _not_the_base_model(self) -> "Arm":
        if self.condition == "base":
            raise ValueError("condition base is the base model's own in a run directory; choose another name")
        return self


class Optimizer(PlanPart):
    """AdamW; with weight_decay 0 it is Adam. Every field is sent, so that no SDK default can enter."""

    name: Literal["adamw"]
    learning_rate: Positive
    beta1: Decay
    beta2: Decay
    eps: Positive = Field(description="the SDK's own default is 1e-12")
    weight_decay: Annotated[float, Field(ge=0.0)] = Field(description="0: Adam")
    grad_clip_norm: Annotated[float, Field(ge=0.0)] = Field(description="0: no clipping")


class Task(PlanPart):
    """Which task file runs (`runner/loop/tasks/<id>.py`) and how many items each split gives."""

    id: str = Field(description="the task's file in runner/loop/tasks")
    train_items: Count | None = Field(default=None, description="null: all")
    order: Literal["shuffled_by_seed", "as_given"] = Field(
        default="shuffled_by_seed",
        description="shuffled_by_seed: each pass over the train items is shuffled by the arm's seed; "
        "as_given: in the task's own order, the same for every seed",
    )
    validation_items: Count = Field(description="held out of train; pilots and sweeps are evaluated on these")
    test_items: Count = Field(description="the primary endpoint's items")


class Dataset(PlanPart):
    """Where a task's items come from, for a task that does not make them itself."""

    name: Name = Field(description="the folder under RUNAUDIT_DATA that holds the items where they are local")
    hf_path: str = Field(description="the data set's name at the Hugging Face hub")
    config: str | None = Field(default=None, description="the data set's configuration at the hub")
    revision: str | None = Field(default=None, description="commit at the hub; null: the newest")


class Curve(PlanPart):
    """Evaluations while a full run trains, on validation items only: test items are touched once, at the end."""

    every_steps: Count = Field(description="rollout steps between two points; the base model is step 0")
    items: Count | None = Field(default=None, description="validation items a point; null: all")


class Evaluation(PlanPart):
    """Greedy evaluation of the base model (once) and of each arm's final checkpoint."""

    metric: str
    temperature: Annotated[float, Field(ge=0.0)] = Field(default=0.0, description="0: greedy")
    max_tokens: Count
    samples_per_item: Count = 1
    grader: str = Field(description="how an answer is compared with the gold one")
    curve: Curve | None = Field(default=None, description="null: no evaluation before the final checkpoint")


class Check(PlanPart):
    """One limit of the activation gate. At least one of `min`, `max`, `one_of` is given."""

    metric: str = Field(description="the metric's file in sql/metrics")
    measures: str = Field(description="in words, for the reader")
    min: float | None = Field(default=None, description="smallest value that passes")
    max: float | None = Field(default=None, description="largest value that passes")
    one_of: list[str] | None = Field(default=None, description="the texts that pass")
    arm: Literal["baseline", "treatment", "all"] | None = Field(
        default=None, description="whose log is measured; null: the metric's own default"
    )
    update: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="0-based minibatch update; null: the metric's own default"
    )

    @model_validator(mode="after")
    def _can_fail(self) -> "Check":
        if self.min is None and self.max is None and not self.one_of:
            raise ValueError("a check without min, max and one_of cannot fail")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is larger than max")
        if self.one_of and (self.min is not None or self.max is not None):
            raise ValueError("one_of excludes min and max")
        return self


class ActivationGate(PlanPart):
    """What the pilot must show before the full run may start."""

    applicable: bool = Field(description="false: nothing is checked, and the reason says why")
    reason: str
    pilot_steps: Count = Field(default=5, description="rollout batches of the pilot")
    checks: list[Check]

    @model_validator(mode="after")
    def _not_empty(self) -> "ActivationGate":
        if self.applicable and not self.checks:
            raise ValueError("an applicable gate without checks cannot fail")
        return self


class Criterion(PlanPart):
    """One contrast of the decision rule and its limits."""

    id: str
    metric: str
    bounds: tuple[float, float] = Field(description="smallest and largest possible score of one item")
    weights: dict[str, float] = Field(description="weight of each role in the contrast")
    margin: Annotated[float, Field(ge=0.0)] = Field(default=0.0, description="validated above it")
    floor: float | None = Field(default=None, description="refuted below it; null: -margin")
    band: Annotated[float, Field(gt=0.0)] | None = Field(default=None, description="tie inside [-band, band]")

    @model_validator(mode="after")
    def _contrast(self) -> "Criterion":
        if self.bounds[0] >= self.bounds[1]:
            raise ValueError("bounds must be [smallest, largest] with smallest < largest")
        if abs(sum(self.weights.values())) > 1e-12 or not any(self.weights.values()):
            raise ValueError("the weights of a contrast sum to 0 and are not all 0")
        if self.floor is not None and self.floor > self.margin:
            raise ValueError("floor is above margin: one interval could be validated and refuted")
        return self


class DecisionRule(PlanPart):
    """The registered rule: one method, one alpha, one or more criteria."""

    version: Literal[1, 2] = 2
    method: str = Field(description="the method's file in analysis/decisions; `audit methods` lists them")
    alpha: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(description="two-sided error probability")
    unit: Literal["fixed_checkpoint_items", "training_seeds"] = Field(description="what the claim generalises over")
    estimand: str = Field(description="in words, for the reader")
    seeds: Annotated[list[int], Field(min_length=1)]
    criteria: Annotated[list[Criterion], Field(min_length=1)]
    combine: Literal["all", "holm"] = Field(
        default="all", description="several criteria: all must be validated, or Holm's procedure shares alpha"
    )
    resampling_seed: int | None = None

    @model_validator(mode="after")
    def _distinct(self) -> "DecisionRule":
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError("two criteria share an id")
        return self


class Preflight(PlanPart):
    """A check that must have passed before a full run; its settings are read by the preflight itself."""

    required: bool
    settings: dict[str, Any] = Field(default_factory=dict)


class Preflights(PlanPart):
    """The preflights a plan may demand; results are written to the pilot's directory, never into the plan."""

    correctness: Preflight = Preflight(required=False)
    restoration: Preflight = Preflight(required=False)
    feasibility: Preflight = Preflight(required=False)


class Budget(PlanPart):
    """What the experiment may cost."""

    gpu_hours: Annotated[float, Field(ge=0.0)]
    max_wall_minutes: Positive


class Sweep(PlanPart):
    """Learning-rate grids, one a condition, chosen on the validation split only."""

    learning_rates: dict[str, list[Positive]]
    steps: Count | None = Field(default=None, description="rollout steps a rate; null: those of the gate's pilot")


class GenerationAudit(PlanPart):
    """What generated training data must satisfy before a result may rest on them, where there are any."""

    required: bool = Field(description="false: nothing is demanded")
    answer_comparison: str = Field(description="how a label is compared with the answer found again")
    max_eval_overlaps: Annotated[int, Field(ge=0)] = Field(description="evaluated items that training prompts repeat")
    max_label_errors: Annotated[int, Field(ge=0)] = Field(description="wrong labels in the checked sample")
    min_sample_size: Count = Field(description="generated items whose labels were checked")


class Plan(PlanPart):
    """A runnable plan (format 3)."""

    format: Literal[3]
    title: str
    hypothesis: str
    supersedes: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, description="sha256 of the plan that this one replaces"
    )
    notes: list[str] = Field(default_factory=list, description="how open points of an earlier plan were resolved")
    base_model: str = Field(description="the model's name at the service")
    lora_rank: Count
    task: Task
    dataset: Dataset | None = Field(default=None, description="null: the task makes its items itself")
    rollout: Rollout
    losses: dict[str, Loss]
    advantages: dict[str, Advantage] = Field(
        default_factory=dict, description="other advantages than the reward minus the group's mean"
    )
    arms: Annotated[list[Arm], Field(min_length=1)]
    optimizer: Optimizer
    evaluation: Evaluation
    primary_endpoint: str
    activation_gate: ActivationGate
    preflights: Preflights = Preflights()
    decision_rule: DecisionRule
    budget: Budget | None = None
    sweep: Sweep | None = None
    advantage_measurement: AdvantageMeasurement | None = Field(
        default=None, description="null: a critic's advantages are compared with nothing"
    )
    generation_audit: GenerationAudit | None = Field(default=None, description="null: no training data were generated")

    @model_validator(mode="after")
    def _names_resolve(self) -> "Plan":
        for arm in self.arms:
            if arm.loss not in self.losses:
                raise ValueError(f"arm {arm.name!r} names loss {arm.loss!r}, which is not under losses")
            if self.losses[arm.loss].kind == "preference" and arm.advantage is not None:
                raise ValueError(f"arm {arm.name!r} has a preference loss, which knows no advantage")
            if arm.advantage is not None and arm.advantage not in self.advantages:
                raise ValueError(f"arm {arm.name!r} names advantage {arm.advantage!r}, which is not under advantages")
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError("two arms share a name")
        pairs = [(arm.condition, arm.seed) for arm in self.arms]
        if len(set(pairs)) != len(pairs):
            raise ValueError("two arms share condition and seed")
        for condition in {arm.condition for arm in self.arms}:
            settings = {(arm.role, arm.loss, arm.advantage) for arm in self.arms if arm.condition == condition}
            if len(settings) > 1:
                raise ValueError(f"condition {condition!r} has arms of different role, loss or advantage")
        roles = {arm.role for arm in self.arms}
        for criterion in self.decision_rule.criteria:
            for role in criterion.weights:
                if role not in roles:
                    raise ValueError(f"criterion {criterion.id!r} weighs role {role!r}, which no arm has")
        seeds = {arm.seed for arm in self.arms}
        if not set(self.decision_rule.seeds) <= seeds:
            raise ValueError("decision_rule.seeds names a seed that no arm has")
        return self

    @model_validator(mode="after")
    def _sweep_names_conditions(self) -> "Plan":
        known = {arm.condition for arm in self.arms}
        for condition in self.sweep.learning_rates if self.sweep else ():
            if condition not in known:
                raise ValueError(f"sweep names condition {condition!r}, which no arm has")
        return self

    @model_validator(mode="after")
    def _curve_fits_the_validation_split(self) -> "Plan":
        curve = self.evaluation.curve
        if curve is not None and curve.items is not None and curve.items > self.task.validation_items:
            raise ValueError(
                f"evaluation.curve.items is {curve.items}, but there are {self.task.validation_items} validation items"
            )
        return self

    def loss_of(self, condition: str) -> Loss:
        """Return the loss of a condition.

        Raises:
            KeyError: no arm has this condition.
        """
        for arm in self.arms:
            if arm.condition == condition:
                return self.losses[arm.loss]
        raise KeyError(condition)

    def conditions(self, role: str) -> list[str]:
        """Return the conditions with this role, in the plan's order, each once."""
        return list(dict.fromkeys(arm.condition for arm in self.arms if arm.role == role))
