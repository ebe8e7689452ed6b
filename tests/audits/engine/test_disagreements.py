"""Items by who is right: the counts that the decision has, and the answers behind them."""

import csv
import io

import numpy as np
import pytest
from asked_run import prompts
from made_run import evals, made_plan, right, write_experiment, write_outcomes

from audits.engine.decide import decide
from audits.engine.disagreements import HEAD, KEPT_CONCORDANT, KEPT_DISCORDANT, TAIL, disagreements
from audits.engine.outcomes import load_item_scores
from audits.store.reader import open_run
from audits.store.writer import RunWriter


def outcomes(path, treatment, baseline, **extra):
    return write_outcomes(path, {"treatment": [evals(treatment, **extra)], "baseline": [evals(baseline, **extra)]})


def found(path, **options):
    return disagreements(open_run(path), **options)


def test_the_cells_are_the_decision_s_counts(tmp_path):
    rng = np.random.default_rng(3)
    treatment, baseline = (rng.integers(0, 2, 60).astype(float).tolist() for _ in range(2))
    path = outcomes(tmp_path / "run", treatment, baseline)
    pair = found(path)
    (criterion,) = decide(open_run(path)).criteria
    assert pair.counts == vars(criterion.counts)
    assert pair.n_items == 60
    from scipy import stats

    low, high = pair.counts["only_treatment"], pair.counts["only_baseline"]
    assert pair.mcnemar_exact == pytest.approx(stats.binomtest(low, low + high).pvalue)
    assert pair.mcnemar_exact == criterion.mcnemar_exact


def test_both_answers_stand_side_by_side(tmp_path):
    path = write_outcomes(
        tmp_path / "run",
        {
            arm: [
                evals([score, 1.0], completion=[said, "same"], extracted=[said[-1], "9"], stop_reason="stop",
                      n_tokens=7, extraction="last_integer", prompt_id=["test-000", "test-001"])
            ]
            for arm, score, said in (("treatment", 1.0, "it is 4"), ("baseline", 0.0, "it is 5"))
        },
    )  # fmt: skip
    RunWriter.reopen(path).write_prompts(prompts(["2 + 2?", "4 + 5?"], golds=["4", "9"]))
    first, second = found(path).items
    assert (first.item_id, first.cell, first.question.head, first.gold.head) == (
        "item-000", "only_treatment", "2 + 2?", "4",
    )  # fmt: skip
    assert (first.treatment.completion.head, first.baseline.completion.head) == ("it is 4", "it is 5")
    assert (first.treatment.extracted.head, first.baseline.extracted.head) == ("4", "5")
    assert (first.treatment.stop_reason, first.treatment.n_tokens, first.treatment.extraction) == (
        "stop", 7, "last_integer",
    )  # fmt: skip
    assert second.cell == "both"


def test_disagreements_come_first_and_what_is_kept_is_bounded_whatever_the_outcome(tmp_path):
    n = 3 * KEPT_DISCORDANT
    kept = {}
    for name, scores in (("all", right(n, n)), ("none", right(0, n))):
        path = outcomes(tmp_path / name, scores, [1.0 - score for score in scores])
        pair = found(path)
        assert sum(pair.counts.values()) == max(pair.counts.values()) == n
        kept[name] = [item.item_id for item in pair.items]
        assert len(kept[name]) == KEPT_DISCORDANT
    assert kept["all"] == kept["none"]
    assert kept["all"] != sorted(kept["all"])
    assert max(kept["all"][:20]) > "item-250"
    same = found(outcomes(tmp_path / "same", right(n, n), right(n, n)))
    assert [item.cell for item in same.items] == ["both"] * KEPT_CONCORDANT


def test_of_a_long_text_the_ends_are_kept(tmp_path):
    said = "a" * HEAD + "b" * 1_000_000 + "c" * TAIL
    path = outcomes(tmp_path / "run", [1.0], [0.0], completion=said, extracted="d" * (HEAD + TAIL))
    (item,) = found(path).items
    text = item.treatment.completion
    assert (text.head, text.tail, text.left_out) == ("a" * HEAD, "c" * TAIL, 1_000_000)
    whole = item.treatment.extracted
    assert (whole.head, whole.tail, whole.left_out) == ("d" * (HEAD + TAIL), "", 0)


def test_a_score_is_the_decision_s_mean_over_seeds_of_samples(tmp_path):
    rng = np.random.default_rng(5)

    def columns(samples):
        parts = [evals(rng.integers(0, 2, 12).astype(float).tolist(), sample=sample) for sample in range(samples)]
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}

    path = write_outcomes(
        tmp_path / "run",
        {"treatment": [columns(2), columns(2)], "baseline": [columns(2), columns(2)]},
    )
    pair = found(path)
    scores = load_item_scores(open_run(path), ["treatment", "baseline"], None)
    for item in pair.items:
        place = scores.item_ids.index(item.item_id)
        assert item.treatment.score == pytest.approx(scores.scores["treatment"][place], abs=1e-12)
        assert item.baseline.score == pytest.approx(scores.scores["baseline"][place], abs=1e-12)
    assert set(pair.counts) == {"only_treatment", "only_baseline", "alike"}
    assert pair.mcnemar_exact is None
    assert not pair.right_or_wrong
    assert (pair.seeds, pair.most_samples) == ((0, 1), 4)


def test_only_the_rule_s_seeds_count(tmp_path):
    plan = made_plan(decision_rule__seeds=[1])
    plan["arms"] = [
        {**arm, "seed": seed, "name": f"{arm['condition']}_s{seed}"} for arm in plan["arms"] for seed in (0, 1)
    ]
    full = write_experiment(tmp_path, plan, scores=None)
    writer = RunWriter.reopen(full)
    for seed in (0, 1):
        writer.write_evals("dppo", seed, "final", evals([float(seed)] * 20))
        writer.write_evals("grpo", seed, "final", evals([1.0 - seed] * 20))
    pair = found(full)
    assert pair.seeds == (1,)
    assert pair.counts == {"only_treatment": 20, "only_baseline": 0, "both": 0, "neither": 0}
    assert (pair.treatment, pair.baseline) == ("dppo", "grpo")


def test_without_texts_only_scores_and_endings_are_read(tmp_path):
    path = outcomes(
        tmp_path / "run", [1.0], [0.0], completion="secret", extracted="secret", gold="secret", stop_reason="stop"
    )
    assert "secret" in repr(found(path).items)
    hidden = found(path, texts=False)
    assert "secret" not in repr(hidden.items)
    assert hidden.items[0].treatment.stop_reason == "stop"


def test_what_was_not_logged_is_none(tmp_path):
    (item, _) = found(outcomes(tmp_path / "run", [1.0, 1.0], [0.0, 1.0])).items
    assert item.item_id == "item-000"
    assert (item.question, item.gold) == (None, None)
    assert vars(item.treatment) == {
        "score": 1.0, "samples": 1, "extracted": None, "extraction": None, "stop_reason": None, "n_tokens": None,
        "completion": None,
    }  # fmt: skip


def test_there_are_no_disagreements_without_two_arms_that_were_evaluated(tmp_path):
    assert found(write_experiment(tmp_path, scores=None)) is None
    assert found(write_outcomes(tmp_path / "one", {"treatment": [evals(right(3))], "other": [evals(right(3))]})) is None


def test_the_query_lists_every_item_with_the_same_scores(tmp_path, audit):
    path = outcomes(tmp_path / "a'b", right(12), right(4), completion="4, it's 'so'")
    pair = found(path)
    rows = list(csv.DictReader(io.StringIO(audit("sql", path, pair.sql, "--format", "csv").out)))
    assert len(rows) == 20
    differing = [row["treatment_score"] != row["baseline_score"] for row in rows]
    assert sum(differing) == pair.counts["only_treatment"] == 8
    assert differing == sorted(differing, reverse=True)
