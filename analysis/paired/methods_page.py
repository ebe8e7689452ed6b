"""The documentation page of the decision methods, made from what each method says about itself."""

from analysis.paired.methods import DecisionMethod, load_method, method_ids

_ORDER = {"proven": 0, "conjectured": 1, "asymptotic": 2}

_HEAD = """\
# Decision methods

This page is made from `analysis/decisions/`; edit the methods, not the page. Each is one file with a `METHOD` and one
function `interval(sample, *, alpha, margin, seed)`, and `audit decide --method ID` takes its id.

- **proven**: the interval covers with probability at least 1 - alpha at every sample size, under the assumption named.
- **conjectured**: no violation is known, and none is proved to be impossible.
- **asymptotic**: the coverage is near 1 - alpha for many items that differ between the arms. With fewer than 10 such
  items, or where the interval would have zero width, the verdict is `inconclusive`.

Every interval is about the population that the items stand for, with checkpoints and decoding as they are. Methods for
`binary` scores take right/wrong scores only; those for `bounded` scores take any that lie inside the plan's bounds.

A method whose seed is `always`, or `continuous scores` where the differences lie on no lattice, draws random numbers:
the plan must register `resampling_seed`, or the decision is refused.

| id | guarantee | scores | seed | method | assumption | when to register it | source |
|---|---|---|---|---|---|---|---|
"""


def methods_page() -> str:
    """Return the page in Markdown: one row a method, the strongest guarantee first."""
    methods = sorted((load_method(method_id) for method_id in method_ids()), key=_rank)
    rows = [
        f"| `{method.id}` | {method.info.guarantee} | {method.info.scores} | {method.info.seed} "
        f"| {method.info.title} | {method.info.assumption} | {method.info.when} | {method.info.source} |"
        for method in methods
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _rank(method: DecisionMethod) -> tuple[int, str]:
    """Return the sorting key: guarantee, then id."""
    return _ORDER[method.info.guarantee], method.id
