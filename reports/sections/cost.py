"""Cost: where time and tokens went, and the budget beside what was predicted and what was used."""

from typing import TYPE_CHECKING

from reports.display import NO_NUMBER, brief, command, count, number, text
from reports.parts import Column, Command, ReportInputs, Section, Table

if TYPE_CHECKING:
    from audits.engine.cost import Cost, PhaseCost

ORDER = 85
SHOWN_PHASES = 120
NOT_RECORDED = "not recorded"

_PHASE_COLUMNS = (
    Column("Arm"),
    Column("Seed", numeric=True),
    Column("Phase"),
    Column("Times", numeric=True),
    Column("Seconds", numeric=True),
    Column("Tokens", numeric=True),
    Column("Tokens a second", numeric=True),
)
_BUDGET_COLUMNS = (
    Column("Resource"),
    Column("Budget", numeric=True),
    Column("Used", numeric=True),
    Column("Used by the pilot", numeric=True),
    Column("Predicted for the full run", numeric=True),
    Column("Prediction"),
)
_TOKENS = {
    "sample": "tokens sampled in training",
    "train": "loss tokens trained on",
    "eval": "tokens of answers in evaluations",
}
_PHASES_QUERY = "SELECT * FROM phase_costs ORDER BY ALL"
# `audit sql` knows a view only where each of its tables was logged.
_QUERIES = {
    "phases": ("seconds by phase", "SELECT arm, seed, phase, sum(seconds) AS seconds FROM phases GROUP BY ALL"),
    "rollouts": ("tokens sampled", "SELECT arm, seed, sum(n_tokens) AS tokens FROM rollouts GROUP BY ALL"),
    "updates": ("loss tokens", "SELECT arm, seed, sum(n_loss_tokens) AS tokens FROM updates GROUP BY ALL"),
    "evals": ("tokens of evaluations", "SELECT arm, seed, sum(n_tokens) AS tokens FROM evals GROUP BY ALL"),
}


def build(inputs: ReportInputs) -> Section:
    """Return the cost section."""
    cost = inputs.cost
    if cost is None or not (cost.phases or cost.budget or cost.predicted or cost.wall_seconds is not None):
        return Section(
            id="cost",
            title="Feasibility and cost",
            takeaway="Neither time nor tokens were logged, and no budget was planned: nothing is known of the cost.",
            commands=_commands(inputs.run, cost),
        )
    tables = (_budget(cost), *((_phases(cost.phases),) if cost.phases else ()))
    return Section(
        id="cost",
        title="Feasibility and cost",
        takeaway=f"{_time(cost)} {_tokens(cost)}",
        tables=tables,
        commands=_commands(inputs.run, cost),
        notes=_notes(cost),
    )


def _commands(run: str, cost: "Cost | None") -> tuple[Command, ...]:
    logged = () if cost is None else cost.logged
    if cost is None or len(logged) == len(_QUERIES):
        return (Command("cost-command", "the phases", command("audit", "sql", run, _PHASES_QUERY)),)
    asked = [_QUERIES[table] for table in logged] or [("what was logged", "SHOW TABLES")]
    return tuple(
        Command(f"cost-command-{number}", gives, command("audit", "sql", run, query))
        for number, (gives, query) in enumerate(asked)
    )


def _time(cost: "Cost") -> str:
    if cost.wall_seconds is None:
        spent = "The wall time of this run was not recorded"
    else:
        spent = f"This run was at work for {_minutes(cost.wall_seconds)} minutes"
    if cost.budget is None:
        return f"{spent}; the plan has no budget."
    cap = cost.budget.max_wall_minutes
    if cost.wall_seconds is None:
        return f"{spent}; the plan allows {number(cap)} minutes."
    together = (cost.wall_seconds + (cost.pilot_wall_seconds or 0.0)) / 60
    with_pilot = "" if cost.pilot_wall_seconds is None else f", with its pilot {number(together, 1)}"
    kept = "within" if together <= cap else "over"
    share = number(100 * together / cap, 1)
    return f"{spent}{with_pilot} of the {number(cap)} budgeted ({share} %, {kept} the budget)."


def _tokens(cost: "Cost") -> str:
    counted = {
        phase: [row.tokens for row in cost.phases if row.phase == phase and row.tokens is not None] for phase in _TOKENS
    }
    if not any(counted.values()):
        return "No token was counted."
    said = ", ".join(f"{count(sum(found))} {_TOKENS[phase]}" for phase, found in counted.items() if found)
    missing = " and ".join(_TOKENS[phase] for phase, found in counted.items() if not found)
    return f"Counted: {said}." + (f" Not counted: {missing}." if missing else "")


def _phases(phases: "tuple[PhaseCost, ...]") -> Table:
    part = "" if len(phases) <= SHOWN_PHASES else f" (the first {SHOWN_PHASES} of {count(len(phases))})"
    return Table(
        caption=f"Time and tokens by arm, seed and phase{part}",
        columns=_PHASE_COLUMNS,
        rows=tuple(
            (
                text(row.arm, 30),
                str(row.seed),
                text(row.phase, 30),
                count(row.times),
                NOT_RECORDED if row.seconds is None else number(row.seconds, 2),
                "none" if row.tokens is None else count(row.tokens),
                _speed(row),
            )
            for row in phases[:SHOWN_PHASES]
        ),
    )


def _speed(row: "PhaseCost") -> str:
    if row.tokens is None:
        return "none"
    return NO_NUMBER if not row.seconds or not row.seconds > 0 else count(round(row.tokens / row.seconds))


def _budget(cost: "Cost") -> Table:
    hours = None if cost.gpus is None else cost.gpus / 3600
    wall = (cost.wall_seconds, cost.pilot_wall_seconds)
    rows = [
        (
            "Wall time (minutes)",
            "none" if cost.budget is None else number(cost.budget.max_wall_minutes),
            *(_minutes(seconds) for seconds in wall),
            *_predicted(cost, "wall_minutes"),
        ),
        (
            f"GPU-hours ({_held(cost.gpus)})",
            "none" if cost.budget is None else number(cost.budget.gpu_hours),
            *(
                NOT_RECORDED if seconds is None or hours is None else number(seconds * hours, 3)
                for seconds in wall
            ),
            *_predicted(cost, "gpu_hours"),
        ),
    ]  # fmt: skip
    return Table(caption="Budget, prediction and what was used", columns=_BUDGET_COLUMNS, rows=tuple(rows))


def _held(gpus: float | None) -> str:
    return "GPUs not recorded" if gpus is None else "on 1 GPU" if gpus == 1 else f"on {gpus:g} GPUs"


def _predicted(cost: "Cost", metric: str) -> tuple[str, str]:
    found = [item for item in cost.predicted if item.metric == metric]
    if not found:
        return "none", "no feasibility preflight predicted it"
    first = found[0]
    value = brief(first.value) if isinstance(first.value, float) else NO_NUMBER
    said = [note for note in first.notes if note.startswith("interval")] or [first.reason or "no interval"]
    return value, text(f"{said[0]}, {first.reference}" if first.reference else said[0], 200)


def _minutes(seconds: float | None) -> str:
    return NOT_RECORDED if seconds is None else number(seconds / 60, 1)


def _notes(cost: "Cost") -> tuple[str, ...]:
    notes = [
        "Seconds are summed over the steps of an arm. Arms may run side by side, so that their sum can be more than "
        "the wall time.",
        "Tokens of sample and eval are completion tokens; of train, loss tokens, counted in every update that used "
        "them.",
    ]
    if cost.gpus is not None:
        notes.append("GPU-hours are wall time times the GPUs that `audit run --gpus` stated, not a meter's reading.")
    return tuple(notes)
