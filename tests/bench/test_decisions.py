"""The benchmark runs; how fast is not a test's business."""

import pytest

from analysis.paired.sample import sample_from_scores

pytest.importorskip("resource")  # CPU time of child processes, which Windows does not keep
from bench import decisions


def test_every_measurement_is_taken_and_printed(capsys):
    lines = decisions.main(scale=0.03, repeats=1)
    printed = capsys.readouterr().out
    for name in ("exact_unconditional", "scipy.stats.bootstrap", "exact law", "evalstats", "audit decide"):
        assert sum(name in line.name for line in lines) == (2 if name == "exact_unconditional" else 1)
        assert name in printed
    assert all(line.milliseconds > 0.0 for line in lines)
    assert printed.count("met") == sum(line.met is not None for line in lines) == 4


def test_the_arms_are_the_table_s():
    counts = sample_from_scores(*decisions.arms((132, 174, 1319)), (0.0, 1.0)).counts
    assert counts == decisions.sample_of(132, 174, 1319).counts
    assert (counts.only_treatment, counts.only_baseline, counts.n_items) == (132, 174, 1319)


@pytest.mark.parametrize(("met", "said"), [(True, "target x: met"), (False, "target x: not met"), (None, "ms")])
def test_a_line_says_whether_its_target_is_met(met, said):
    assert str(decisions.Line("name", 1.0, "x", met)).endswith(said)
