"""The greedy evaluation gives the same verdicts when it is repeated.

Greedy decoding is not deterministic on a busy server: batch size changes the order of sums, and one token changes the
rest (vllm-project/vllm#5898, #7779; arXiv:2504.07086). At temperature 0 the samples of one item are repeats; the notes
give for each evaluation the items whose verdict differs between them and those whose text does, as n/N. A flip is a
warning. It is a failure where the sign of treatment minus baseline depends on which repeat is taken: the direction of
the result is then not a property of the checkpoints.

It does not apply where the samples are meant to differ (temperature above 0), nor where each item was sampled once: the
interval then speaks of these completions as they were drawn, and a flip rate is had with samples_per_item 2. Repeats of
one session may share a cache and differ less than those of another day; that cannot be seen.
"""

from audits.engine.audit import Audit
from audits.engine.stated import stated_setting
from audits.store.reader import Run, connect

_LARGEST_SAMPLE = "SELECT max(sample) FROM evals"


def applies(run: Run) -> str | None:
    """Return why nothing was meant to repeat, None where the samples of an item are repeats or should have been."""
    temperature = stated_setting(run, "evaluation.temperature")
    if isinstance(temperature, int | float) and temperature > 0:
        return f"answers were sampled at temperature {temperature:g}: the samples of an item are meant to differ"
    planned = stated_setting(run, "evaluation.samples_per_item")
    if not run.has("evals") or (isinstance(planned, int) and planned > 1) or _largest_sample(run) > 0:
        return None
    return (
        "each item was answered once, so the interval speaks of these completions as they were drawn, not of what a "
        "second evaluation would give; samples_per_item 2 at temperature 0 measures the flip rate"
    )


def _largest_sample(run: Run) -> int:
    with connect(run) as connection:
        return int(connection.execute(_LARGEST_SAMPLE).fetchall()[0][0])


AUDIT = Audit(
    title="a repeated greedy evaluation gives the same verdicts",
    requires=("evals",),
    examines="evals WHERE sample > 0",
    mend="serve with batch-invariant kernels or one request at a time, or decide over more samples an item",
    derived=("arms",),
    applies=applies,
)
