"""`audit methods`: the decision methods, what each promises and what it rests on."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.formats import TableFormat

if TYPE_CHECKING:
    from analysis.paired.methods import DecisionMethod
    from analysis.plan.model import Plan

_WIDTH = 96
_GUARANTEES = ("proven", "conjectured", "asymptotic")
_SCORES = {"binary": "right/wrong scores only", "bounded": "any bounded scores"}
_UNITS = {
    "fixed_checkpoint_items": "fixed checkpoints, on items like these",
    "training_seeds": "training like this, whatever its seed",
}


def command(
    method: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One method, with its whole documentation.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option(help="Plan file or id of a shipped plan: say which methods fit its rule.")
    ] = None,
    format: Annotated[TableFormat, typer.Option(help="How the methods are printed.")] = TableFormat.table,
) -> None:
    """List the decision methods, the strongest guarantee first; or explain one.

    Exit codes: 0 listed, 2 no such method or unreadable plan.
    """
    from analysis.paired.methods import load_method

    methods = [load_method(method)] if method is not None else _methods()
    rule = _plan(plan) if plan is not None else None
    found = [_described(item, rule, whole=method is not None) for item in methods]
    if format is TableFormat.json:
        from reports.emitters.json import dumps

        typer.echo(dumps({"methods": found}))
        return
    for number, item in enumerate(found):
        typer.echo(("\n" if number else "") + _text(item))
    if method is None:
        typer.echo("\n`audit methods ID` explains one; `audit power` says what it can show; docs/coverage.md has its")
        typer.echo("enumerated coverage.")


def _methods() -> "list[DecisionMethod]":
    """Return every method: those for fixed checkpoints first, the strongest guarantee first."""
    from typing import get_args

    from analysis.paired.methods import Unit, load_method, method_ids

    units = get_args(Unit)
    methods = [load_method(method_id) for unit in units for method_id in method_ids(unit)]
    return sorted(methods, key=lambda item: (units.index(item.unit), _GUARANTEES.index(item.info.guarantee), item.id))


def _plan(name: str) -> "Plan":
    from runner.loop.launch import load_plan

    return load_plan(name).plan


def _described(method: "DecisionMethod", plan: "Plan | None", *, whole: bool) -> dict[str, Any]:
    import dataclasses

    described: dict[str, Any] = {"id": method.id, "unit": method.unit, **dataclasses.asdict(method.info)}
    described["estimand"] = f"mean difference of the scores: {_UNITS.get(method.unit, method.unit)}"
    if whole:
        described["documentation"] = _documentation(method)
    if plan is not None:
        reasons = _misfits(method, plan)
        described |= {"fits": not reasons, "reasons": reasons}
    return described


def _documentation(method: "DecisionMethod") -> str:
    """Return what the method's file says about itself."""
    import inspect

    module = inspect.getmodule(method.interval)
    return inspect.getdoc(module) or "" if module is not None else ""


def _misfits(method: "DecisionMethod", plan: "Plan") -> list[str]:
    """Return why the method cannot decide the plan's rule; empty where it can."""
    from analysis.seeds.sample import MINIMUM_SEEDS

    rule, reasons = plan.decision_rule, []
    if method.unit != rule.unit:
        reasons.append(f"the rule's unit is {rule.unit}, the method's {method.unit}")
    if method.info.scores == "binary":
        for criterion in rule.criteria:
            if tuple(criterion.bounds) != (0.0, 1.0) or sorted(criterion.weights.values()) != [-1.0, 1.0]:
                reasons.append(f"criterion {criterion.id} is not a difference of two arms' right/wrong scores")
        if plan.evaluation.samples_per_item > 1 or len(rule.seeds) > 1:
            reasons.append("an item's score is a mean over samples or seeds, which is not right or wrong")
    if method.unit == "training_seeds" and len(rule.seeds) < MINIMUM_SEEDS:
        reasons.append(f"it needs {MINIMUM_SEEDS} seeds an arm, the rule has {len(rule.seeds)}")
    if method.info.seed == "always" and rule.resampling_seed is None:
        reasons.append("the rule registers no resampling_seed")
    return reasons


def _text(item: dict[str, Any]) -> str:
    lines = [item["id"], *_lines(item["title"])]
    facts: Sequence[tuple[str, str]] = (
        ("guarantee", item["guarantee"]),
        ("register when", item["when"]),
        ("assumes", item["assumption"]),
        ("scores", _SCORES[item["scores"]]),
        ("speaks of", item["estimand"]),
        ("seed", {"never": "not needed", "always": "must be registered"}.get(item["seed"], f"for {item['seed']}")),
        ("source", item["source"]),
    )
    if "fits" in item:
        facts = (("fits the plan", "yes" if item["fits"] else f"no: {'; '.join(item['reasons'])}"), *facts)
    for name, value in facts:
        lines += _lines(value, f"  {name:<14}")
    if "documentation" in item:
        lines += ["", *(f"  {line}".rstrip() for line in item["documentation"].splitlines())]
    return "\n".join(lines)


def _lines(value: str, label: str = "  ") -> list[str]:
    from analysis.printable import printable

    return textwrap.wrap(
        printable(" ".join(value.split())), _WIDTH, initial_indent=label, subsequent_indent=" " * len(label)
    )
