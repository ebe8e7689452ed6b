"""Turns what was asked about power into settings: from options, a plan, and a run's observed discordance."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.errors import AuditError
from analysis.paired.exact_limit import clopper_pearson
from analysis.paired.methods import load_method
from analysis.plan.model import Plan
from analysis.plan.parse import AnyPlan, parse_plan_text
from analysis.plan.rule import Registered, registered
from analysis.power_answer import Observed, PowerAnswer, Study
from analysis.power_study import Setting, study

if TYPE_CHECKING:
    from audits.store.reader import Run

DEFAULT_METHOD = "paired_hoeffding"
DISCORDANCES = (0.05, 0.10, 0.20, 0.30)
_ERROR = 0.05


@dataclasses.dataclass(frozen=True)
class Options:
    """What was asked for on the command line; None and () leave it to the plan, the run or the default."""

    methods: tuple[str, ...] = ()
    items: int | None = None
    discordances: tuple[float, ...] = ()
    gaps: tuple[float, ...] = ()
    alpha: float | None = None
    margin: float | None = None
    band: float | None = None
    half_width: float | None = None
    target: float = 0.8
    seed: int | None = None
    points: int = 0


def ask(options: Options, plan_name: str | None, run: "Run | None") -> PowerAnswer:
    """Return the answer.

    Args:
        options: what was asked for; an option given beside a plan replaces the plan's value, and a note says so.
        plan_name: a plan file or a shipped plan's id.
        run: whose discordance is taken.

    Raises:
        AuditError: no number of items, a claim that is not about right/wrong scores of fixed checkpoints, an
            unreadable plan or run, or a number out of its range.
    """
    observed = _observed(run) if run is not None else None
    plan = _read_plan(plan_name) if plan_name is not None else run.sealed.plan if run and run.sealed else None
    shares = options.discordances or (() if observed is not None else DISCORDANCES)
    if observed is not None:
        shares = tuple(sorted({*shares, observed.low, observed.share, observed.high} - {0.0}))
    studies = tuple(
        Study(setting, study(setting, shares, options.gaps, options.points), criterion)
        for setting, criterion in _settings(options, plan, observed)
    )
    return PowerAnswer(studies, observed, tuple(_notes(options, plan, studies)))


def _observed(run: "Run") -> Observed:
    from audits.engine.outcomes import contrast_sample, load_item_scores

    seeds = run.sealed.plan.decision_rule.seeds if run.sealed is not None else None
    items = load_item_scores(run, ["treatment", "baseline"], seeds)
    sample = contrast_sample(items, {"treatment": 1.0, "baseline": -1.0}, (0.0, 1.0))
    if sample.counts is None:
        raise AuditError(f"{run.path}: the scores are not right or wrong, so that no discordance can be counted")
    discordant, n_items = sample.counts.discordant, sample.counts.n_items
    low, high = clopper_pearson(discordant, n_items, _ERROR)
    return Observed(str(run.path), discordant, n_items, low, high)


def _read_plan(name: str) -> AnyPlan:
    from runner.loop.plans import plan_text

    return parse_plan_text(plan_text(name), source=name)


def _settings(
    options: Options, plan: AnyPlan | None, observed: Observed | None
) -> Iterator[tuple[Setting, str | None]]:
    """Yield each method with each distinct criterion."""
    if plan is None:
        items = options.items if options.items is not None else observed.n_items if observed is not None else None
        if items is None:
            raise AuditError("audit power: how many items? Give --items N, --plan PLAN, or --run RUN")
        for method in options.methods or (DEFAULT_METHOD,):
            yield _setting(options, method, Setting(load_method(method), items, seed=options.seed)), None
        return
    rules = list(registered(plan))
    if not rules:
        raise AuditError("the plan has no decision rule; give --items N and --method instead of --plan")
    seed = plan.decision_rule.resampling_seed if isinstance(plan, Plan) else None
    for method in options.methods or tuple(dict.fromkeys(rule.method for rule in rules)):
        seen = set()
        for rule in rules:
            setting = _setting(options, method, _registered_setting(rule, method, seed))
            if setting not in seen:
                seen.add(setting)
                yield setting, rule.path


def _registered_setting(rule: Registered, method: str, seed: int | None) -> Setting:
    if not rule.right_or_wrong:
        raise AuditError(
            f"{rule.path} is not a difference of two arms' scores in [0, 1]: power is enumerated for right/wrong "
            "scores only. `audit spec` says the half-width that paired_hoeffding has"
        )
    return Setting(load_method(method), rule.n, rule.alpha, rule.margin, rule.band, seed=seed)


def _setting(options: Options, method: str, base: Setting) -> Setting:
    """Return the setting with the options' values in place of its own."""
    if base.method.unit != "fixed_checkpoint_items":
        raise AuditError(
            f"{method} speaks of training seeds: its power depends on the spread between seeds, which no item tells. "
            "`audit power` knows the methods for fixed checkpoints (`audit methods`)"
        )
    given = {name: getattr(options, name) for name in ("alpha", "margin", "band", "half_width", "seed")}
    changes = {name: value for name, value in given.items() if value is not None}
    items = base.n_items if options.items is None else options.items
    return dataclasses.replace(base, n_items=items, target=options.target, **changes)


def _notes(options: Options, plan: AnyPlan | None, studies: tuple[Study, ...]) -> Iterator[str]:
    replaced = [name for name in ("methods", "items", "alpha", "margin", "band", "seed") if getattr(options, name)]
    if plan is not None and replaced:
        names = ", ".join(name.removesuffix("s") if name == "methods" else name for name in replaced)
        yield f"not the plan's rule: {names} as given on the command line"
    if any(study.setting.method.info.scores == "bounded" for study in studies):
        yield "for right/wrong scores; other bounded scores vary less or more"
    if any(study.setting.method.id == "paired_newcombe" for study in studies):
        yield "paired_newcombe also looks at the items on which the arms agree: half of them count as right"
    if any(study.setting.method.info.guarantee == "asymptotic" for study in studies):
        yield "an asymptotic interval validates nothing below 10 discordant items; its own error is not nominal there"
