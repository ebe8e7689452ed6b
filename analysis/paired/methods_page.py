"""The documentation page of the decision methods, made from what each method says about itself."""

from analysis.paired.methods import DecisionMethod, Unit, load_method, method_ids

_ORDER = {"proven": 0, "conjectured": 1, "asymptotic": 2}

_HEAD = """\
# Decision methods

This page is made from `analysis/decisions/` and `analysis/seed_decisions/`; edit the methods, not the page. Each is one
file with a `METHOD` and one function `interval(sample, *, alpha, margin, seed)`, and `audit decide --method ID` takes
its id.

- **proven**: the interval covers with probability at least 1 - alpha at every sample size, under the assumption named.
- **conjectured**: no violation is known, and none is proved to be impossible.
- **asymptotic**: the coverage is near 1 - alpha for many items that differ between the arms, or holds exactly only for
  normal effects. With fewer than 10 such items, where seeds or items show no spread, or where the interval would have
  zero width, the verdict is `inconclusive`, and a proven interval is printed beside it.

Methods for `binary` scores take right/wrong scores only; those for `bounded` scores take any that lie inside the plan's
bounds. A method whose seed is `always`, or `continuous scores` where the differences lie on no lattice, draws random
numbers: the plan must register `resampling_seed`, or the decision is refused.

## What each unit may claim

The rule's `unit` says what the claim generalises over, and a method of the other unit is refused.

- **`fixed_checkpoint_items`**: the interval is about these checkpoints, on items like these. It says nothing of the
  algorithm: another training seed may do otherwise. One checkpoint an arm is enough; of several seeds the mean counts.
- **`training_seeds` with `seed_level_t` or `seed_level_hoeffding`**: about training like this, whatever its seed, on
  these items. It says nothing about other items, models or settings. It needs 3 seeds an arm.
- **`training_seeds` with `hierarchical_crossed`**: about training like this, whatever its seed, on items like these. It
  says nothing about other models or settings. It needs 3 seeds an arm.

Several samples of an item are reduced to the item's mean before anything else: the number of items is the sample size.
Counting samples as items would make an interval too short wherever an item's samples agree with each other. Item means
are not right or wrong, so that methods for `binary` scores refuse them.

An interval on items alone, read as a claim about the algorithm, misses too often however many items there are: the
spread between seeds never enters it. Three seeds an arm are the fewest accepted. If all of them agree exactly, their
spread is unknown and not zero, and the verdict is `inconclusive`.

"""

_ITEMS_HEAD = """\
## For fixed checkpoints

"""

_SEEDS_HEAD = """
## For training seeds

A contrast's positive weights make one side and its negative weights the other. Where both sides have the same seeds, a
seed's difference is one observation; else the sides' variances are added. Every seed of every arm answers the same
items. `hierarchical_crossed` is wider than need be where the seeds hardly differ (its coverage is then above
1 - alpha); in exchange it has a proof for normal effects with any number of seeds, which neither Satterthwaite's
degrees of freedom nor a bootstrap of three seeds has.

"""

_SEQUENCE = """
## Looking more than once

`confidence_sequence` holds at all looks together: with an evaluation that grows item by item, the chance that any of
its intervals misses is at most alpha, and the claim may be made at the first look that supports it. Every other method
is for one look at a number of items that was fixed beforehand; looking with it after each batch of items and stopping
when it is favourable makes false claims more often than alpha.

The interval depends on the items seen and not on their order, so that nobody can choose an order. Two things must not
depend on scores: which items a look has, and which come next. A later look keeps all items of the earlier ones. The
plan's number of test items still decides when a registered run is finished: before that its verdict is `inconclusive`.
"""

_COLUMNS = """\
| id | guarantee | scores | seed | method | assumption | when to register it | source |
|---|---|---|---|---|---|---|---|
"""


def methods_page() -> str:
    """Return the page in Markdown: a table a unit, one row a method, the strongest guarantee first."""
    items, seeds = _table("fixed_checkpoint_items"), _table("training_seeds")
    return _HEAD + _ITEMS_HEAD + items + _SEEDS_HEAD + seeds + _SEQUENCE


def _table(unit: Unit) -> str:
    methods = sorted((load_method(method_id) for method_id in method_ids(unit)), key=_rank)
    rows = [
        f"| `{method.id}` | {method.info.guarantee} | {method.info.scores} | {method.info.seed} "
        f"| {method.info.title} | {method.info.assumption} | {method.info.when} | {method.info.source} |"
        for method in methods
    ]
    return _COLUMNS + "\n".join(rows) + "\n"


def _rank(method: DecisionMethod) -> tuple[int, str]:
    """Return the sorting key: guarantee, then id."""
    return _ORDER[method.info.guarantee], method.id
