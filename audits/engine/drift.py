"""Drift of the policy from the sampler, by arm, seed, step and update."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.errors import AuditError
from analysis.plan.model import Plan
from audits.engine.check import Check, CheckReport, StepValue, combine
from audits.engine.counterfactual import CURVE_THRESHOLDS, Rule, RuleAsk, RuleKind, RuleShare, rules_of
from audits.engine.executors import LOCAL, Engine
from audits.engine.gate import loss_parameters
from audits.engine.measure import Measurement, measure_all
from audits.engine.metric import load_metric
from audits.engine.request import Request
from audits.engine.rounding import rounding_told
from audits.engine.watch import Watched, watch_asks, watched_metrics
from audits.store.reader import Run
from audits.store.schema import tables

_FIGURES = {
    "masked_share": "dppo_masked_token_fraction",
    "clip_share": "grpo_clip_fraction",
    "abs_p_q50": "policy_drift_abs_p_q50",
    "abs_p_q90": "policy_drift_abs_p_q90",
    "abs_p_q99": "policy_drift_abs_p_q99",
    "kl_k3": "kl_k3",
    "effective_sample_size": "effective_sample_size",
    "ratio_max": "ratio_max",
}


@dataclass(frozen=True)
class DriftRow:
    """One minibatch update of one step of one arm; shares are over its loss tokens.

    Attributes:
        masked_share: share masked by the treatment's divergence rule, None without such a loss in the plan.
        clip_share: share with a binding (sign-aware) ratio clip of the baseline's eps, None without such a loss.
        abs_p_q50: median of |p_current - p_sampler|.
        abs_p_q90: 90th percentile of |p_current - p_sampler|.
        abs_p_q99: 99th percentile of |p_current - p_sampler|.
        kl_k3: KL from sampler to policy in nats, estimator k3.
        effective_sample_size: of the importance weights, as a share of the loss tokens.
        ratio_max: largest probability ratio.
        reward: mean reward of the step's rollouts, None where rollouts were not logged.
    """

    arm: str
    seed: int
    step: int
    update: int
    loss_tokens: int
    masked_share: float | None
    clip_share: float | None
    abs_p_q50: float
    abs_p_q90: float
    abs_p_q99: float
    reward: float | None
    kl_k3: float = math.nan
    effective_sample_size: float = math.nan
    ratio_max: float = math.nan


@dataclass(frozen=True)
class DriftReport:
    """What `audit drift` shows of a run.

    Attributes:
        checks: watched metrics and the onsets found in them.
        rows: every minibatch update of every arm.
        shares: what each loss's rule would have taken away on each arm's batches.
        curve: the same over a range of thresholds, empty where it was not asked for.
    """

    checks: CheckReport
    rows: tuple[DriftRow, ...]
    shares: tuple[RuleShare, ...]
    curve: tuple[RuleShare, ...]


def drift_report(
    run: Run, plan: Plan | None, *, rules: Sequence[Rule] = (), curve_of: RuleKind | None = None, engine: Engine = LOCAL
) -> DriftReport:
    """Return drift by step, onsets and counterfactual masks of every arm that was logged.

    Masks and clips are looked at on the last update of a batch, where the policy is furthest from its sampler.

    Args:
        run: the run.
        plan: gives the thresholds of its losses, None where the run has none.
        rules: looked at beside the plan's.
        curve_of: the rule to draw over a range of thresholds, None for no curve.
        engine: where the scans run.

    Raises:
        AuditError: the run has no token log, or a file is damaged.
    """
    arms = arms_of(run)
    if not run.has("tokens"):
        raise AuditError(
            f"{run.path}: table tokens was never logged, and drift is measured from it; "
            f"{tables()['tokens'].written_by} writes it"
        )
    wanted = dict.fromkeys([*(rules_of(plan) if plan is not None else ()), *rules])
    curve = [Rule(curve_of, threshold) for threshold in CURVE_THRESHOLDS] if curve_of is not None else []
    rows_asked = [_ArmRows(arm, plan) for arm in arms]
    watched = _watched(run, plan)
    asked, of_curve = ([RuleAsk(arm, rule) for arm in arms for rule in own] for own in (wanted, curve))
    # One call: what reads the same rows shares their scan.
    parts = [
        *(own.requests for own in rows_asked),
        *(own.requests for own in watched),
        [own.request for own in (*asked, *of_curve)],
    ]
    measured = iter(measure_all(run, [request for own in parts for request in own], engine))
    rows = tuple(row for own in rows_asked for row in own.rows([next(measured) for _ in own.requests]))
    checks = [own.answer([next(measured) for _ in own.requests]) for own in watched]
    update = max((row.update for row in rows), default=0)
    shares, drawn = ([own.share(next(measured), update) for own in part] for part in (asked, of_curve))
    return DriftReport(
        checks=_report(run, checks, rounding_of(run, plan, rows, rules)),
        rows=rows,
        shares=tuple(share for share in shares if share is not None),
        curve=tuple(share for share in drawn if share is not None),
    )


def drift_by_step(run: Run, plan: Plan | None, engine: Engine = LOCAL) -> tuple[DriftRow, ...]:
    """Return the drift of every minibatch update that was logged, sorted by arm, seed, step and update.

    An update with NaN or infinite numbers has NaN figures, not smaller ones.

    Args:
        run: the run; without a token log the result is empty.
        plan: gives the thresholds; without it the shares are None.
        engine: where the scans run.

    Raises:
        AuditError: a file of the run is damaged.
    """
    asked = [_ArmRows(arm, plan) for arm in arms_of(run)]
    measured = iter(measure_all(run, [request for own in asked for request in own.requests], engine))
    return tuple(row for own in asked for row in own.rows([next(measured) for _ in own.requests]))


def rounding_of(run: Run, plan: Plan | None, rows: Sequence[DriftRow], rules: Sequence[Rule] = ()) -> tuple[str, ...]:
    """Return what it costs the figures of the last update that log-probabilities were logged with few decimals.

    Args:
        run: the run.
        plan: its losses' rules are looked at, None where the run has none.
        rows: the drift of the run.
        rules: looked at beside the plan's.
    """
    wanted = dict.fromkeys([*(rules_of(plan) if plan is not None else ()), *rules])
    update = max((row.update for row in rows), default=0)
    return tuple(rounding_told(run, sorted({row.arm for row in rows}), tuple(wanted), update))


def _watched(run: Run, plan: Plan | None) -> list[Watched]:
    parameters = loss_parameters(plan) if plan is not None else {}
    return watch_asks(run, watched_metrics(), dict.fromkeys(arms_of(run)), parameters)


def _report(run: Run, checks: Sequence[Check], told: tuple[str, ...]) -> CheckReport:
    notes = () if checks else ("no table with a watched metric was logged",)
    return CheckReport(
        str(run.path), combine(check.status for check in checks), tuple(checks), (*run.notes, *told, *notes)
    )


def arms_of(run: Run) -> tuple[str, ...]:
    """Return the arms with a token log, sorted."""
    return tuple(sorted({arm for arm, _ in run.partitions("tokens")}))


@dataclass(frozen=True, eq=False)
class _ArmRows:
    """The drift of one arm: the figures of every update, the rows that are no numbers, and the rewards."""

    arm: str
    plan: Plan | None

    @cached_property
    def figures(self) -> dict[str, Request]:
        """A request for each figure whose thresholds the plan has."""
        parameters = loss_parameters(self.plan) if self.plan is not None else {}
        metrics = {name: load_metric(metric_id) for name, metric_id in _FIGURES.items()}
        return {
            name: Request(metric, parameters, self.arm, by_update=True)
            for name, metric in metrics.items()
            if metric.parameters <= set(parameters)
        }

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The figures, then what is no number, then the rewards."""
        invalid = Request(load_metric("invalid_fraction"), arm=self.arm, by_update=True)
        return (*self.figures.values(), invalid, Request(load_metric("mean_reward"), arm=self.arm))

    def rows(self, found: Sequence[Measurement]) -> Iterator[DriftRow]:
        """Yield a row for each update, from one measurement a request."""
        *measured, invalid, rewards = found
        figures = {name: _by_update(own) for name, own in zip(self.figures, measured, strict=True)}
        broken = {key for key, step in _by_update(invalid).items() if step.numerator}
        reward_of = {(step.seed, step.step): float(step.value) for step in rewards.steps}
        for key, row in figures["abs_p_q90"].items():
            values = {name: math.nan if key in broken else float(own[key].value) for name, own in figures.items()}
            yield DriftRow(
                self.arm,
                *key,
                loss_tokens=row.denominator,
                masked_share=values.get("masked_share"),
                clip_share=values.get("clip_share"),
                abs_p_q50=values["abs_p_q50"],
                abs_p_q90=values["abs_p_q90"],
                abs_p_q99=values["abs_p_q99"],
                kl_k3=values["kl_k3"],
                effective_sample_size=values["effective_sample_size"],
                ratio_max=values["ratio_max"],
                reward=reward_of.get(key[:2]),
            )


def _by_update(found: Measurement) -> dict[tuple[int, int, int], StepValue]:
    return {(step.seed, step.step, step.update or 0): step for step in found.steps}
