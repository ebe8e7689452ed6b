"""What it costs a figure that log-probabilities were logged with few decimals; the figure itself stays what it is.

A value rounded to d decimals is off by up to half a unit of the last one, and by what float32 takes besides. How far a
figure can move then, its metric says in the header `moves by`; of a share, the tokens are counted that the missing
digits could bring to the other side of the threshold. Both bounds hold whatever the digits were.
"""

import math
from collections.abc import Iterator, Sequence

from audits.engine.counterfactual import Rule, RuleAsk
from audits.engine.measure import Measurement
from audits.engine.passes import pass_text
from audits.engine.request import Request
from audits.store.reader import Run, connect
from audits.store.schema import SQL_FOLDER

_KEY = "logprob_decimals"
_SOURCE = "loss_tokens"
_MOST_DECIMALS = 17
# Half a unit in the last place of float32, relative.
_FLOAT32 = "6e-8"


def logprob_decimals(run: Run, arm: str) -> int | None:
    """Return how many decimals an arm's log-probabilities were logged with, None where nothing says they were rounded.

    Args:
        run: an imported run says so in `run.json`, under `source`.
        arm: of several sources that were imported together, each speaks of its own arm.
    """
    found = [
        value
        for key, value in run.manifest.source.items()
        if key == _KEY or (key.startswith(f"{arm}/seed=") and key.endswith(f" {_KEY}"))
    ]
    whole = [value for value in found if isinstance(value, int) and not isinstance(value, bool)]
    return min((value for value in whole if 0 <= value <= _MOST_DECIMALS), default=None)


def rounding_notes(run: Run, request: Request, found: Measurement) -> Iterator[str]:
    """Yield what rounding costs a figure: nothing where it was not rounded or is no figure of log-probabilities.

    Args:
        run: the run.
        request: what was measured.
        found: the measurement.
    """
    decimals = logprob_decimals(run, request.arm)
    metric = request.metric
    if decimals is None or metric.source != _SOURCE or found.invalid or not found.rows:
        return
    whatever = f"log-probabilities have {decimals} decimals: whatever the missing digits are,"
    if metric.is_share and "counted" in metric.blocks:
        yield f"{whatever} {_span(run, request, decimals)} of {found.denominator:,} tokens are counted"
    elif "moves by" in metric.header:
        yield f"{whatever} the figure moves by at most {_above(_moves(run, request, decimals))}"


def rounding_told(run: Run, arms: Sequence[str], rules: Sequence[Rule], update: int) -> Iterator[str]:
    """Yield for each arm what rounding costs a token, a quantile, and the shares of the rules on one update."""
    for arm in arms:
        decimals = logprob_decimals(run, arm)
        if decimals is None:
            continue
        half = 0.5 * 10.0**-decimals
        yield (
            f"log-probabilities of arm {arm} have {decimals} decimals: each is off by up to {half:g} nats, a ratio by "
            f"{_above(100 * math.expm1(2 * half))} %, |dp| and each of its quantiles by {_above(2 * math.expm1(half))}"
        )
        for rule in rules:
            asked = RuleAsk(arm, rule).request
            span = _span(run, Request(asked.metric, asked.parameters, arm, update), decimals)
            yield f"whatever the missing digits are, {rule} takes away {span} tokens of arm {arm} on update {update}"


def _span(run: Run, request: Request, decimals: int) -> str:
    fewest, most = _counts(run, request, decimals)
    return f"between {fewest:,} and {most:,}" if fewest < most else f"{most:,}"


def _above(bound: float) -> str:
    """Return a bound with three digits, rounded up: rounded down it would be none."""
    if not 0 < bound < math.inf:
        return f"{bound:g}"
    unit = 10.0 ** (math.floor(math.log10(bound)) - 2)
    return f"{math.ceil(bound / unit) * unit:.3g}"


def _counts(run: Run, request: Request, decimals: int) -> tuple[int, int]:
    """Return how many tokens are counted whatever the missing digits are, and how many may be."""
    view = (SQL_FOLDER / "views" / f"{_SOURCE}.sql").read_text(encoding="utf-8")
    text = pass_text("rounding_counts").format(
        u=_half_unit(decimals),
        where=request.scope,
        counted=request.metric.fill("{counted}", request.parameters),
        # A view begins with its own WITH; one more table before it takes the place of the logged tokens.
        view=_without_comments(view).replace("WITH ", ", ", 1).strip(),
    )
    with connect(run) as connection:
        fewest, most = connection.execute(text).fetchall()[0]
    return int(fewest), int(most)


def _moves(run: Run, request: Request, decimals: int) -> float:
    by_step = "seed, step" if request.metric.over == "mean_of_steps" else "()"
    moves = request.metric.header["moves by"].replace("{u}", _half_unit(decimals))
    text = pass_text("rounding_moves").format(moves=moves, source=_SOURCE, where=request.scope, keys=by_step)
    with connect(run) as connection:
        return float(connection.execute(text).fetchall()[0][0])


def _half_unit(decimals: int) -> str:
    return f"({0.5 * 10.0**-decimals!r} + {_FLOAT32} * greatest(abs(sampler_logprob), abs(current_logprob)))"


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))
