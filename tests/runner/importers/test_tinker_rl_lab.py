import json
import shutil
from pathlib import Path

import pytest

from analysis.errors import AuditError
from audits.engine.audit import run_audit
from audits.engine.decide import RuleOptions, decide
from audits.store.reader import connect

DATA = Path(__file__).parents[2] / "data" / "tinker-rl-lab"
BASE = DATA / "gsm8k_base_control_first_12.json"
SEEDS = [DATA / f"gsm8k_heldout_seed{seed}_first_12.json" for seed in ("042", "137", "256")]
WHOLE = Path(__file__).parents[4] / "shared" / "data" / "tinker-rl-lab"
needs_whole = pytest.mark.skipif(not WHOLE.is_dir(), reason="the whole files are not part of the repository")


@pytest.fixture
def changed(importing, tmp_path):
    """Import one of the sample files with what it holds changed in place."""

    def changed(source, change):
        held = json.loads(source.read_text())
        change(held)
        path = tmp_path / source.name
        path.write_text(json.dumps(held))
        return importing("tinker_rl_lab", path)

    return changed


def audited(importing, audit_id):
    with connect(importing.run) as connection:
        return run_audit(connection, importing.run, audit_id)


def roles(base, *treatments):
    return [("baseline", str(base)), *(("treatment", str(path)) for path in treatments)]


def test_an_evaluation_is_one_arm_with_the_settings_that_it_states(importing):
    importing(SEEDS[0])
    (arm,) = importing.manifest.arms
    assert (arm.arm, arm.seed, arm.role) == ("gsm8k_heldout_seed042_first_12", 42, "other")
    assert {key: value for key, value in arm.settings.items() if key != "model"} == {
        "evaluation.temperature": 0.0, "evaluation.max_tokens": 2048, "evaluation.samples_per_item": 1,
        "evaluation.seed": 42, "aggregation": "single",
    }  # fmt: skip
    examples = json.loads(SEEDS[0].read_text())["examples"]
    assert importing.sql("SELECT item_id, score, extracted, gold FROM evals ORDER BY item_id") == [
        (f"gsm8k-test-{e['idx']:04d}", float(e["status"] == "correct"), e["predicted"], e["ground_truth"])
        for e in examples
    ]


def test_several_seeds_are_one_arm_and_their_mean_is_decided(importing):
    importing(arms=roles(BASE, *SEEDS))
    assert [(arm.arm, arm.seed) for arm in importing.manifest.arms] == [
        ("baseline", 0), ("treatment", 42), ("treatment", 137), ("treatment", 256)
    ]  # fmt: skip
    means = dict(importing.sql("SELECT arm, avg(score) FROM evals GROUP BY arm"))
    assert decide(importing.run).criteria[0].estimate == pytest.approx(means["treatment"] - means["baseline"])


def test_one_seed_twice_is_refused(importing):
    with pytest.raises(AuditError, match="two sources hold seed 42"):
        importing(arms=roles(BASE, SEEDS[0], SEEDS[0]))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("question", "Another question", "1 items have another text"), ("ground_truth", "19", "1 items have another gold"),
     ("idx", 99, "the examples hold items beyond test_size 12: gsm8k-test-0099"), ("idx", 1, "an item twice")],
)  # fmt: skip
def test_items_that_are_not_the_other_arms_are_named(importing, tmp_path, key, value, said):
    held = json.loads(SEEDS[0].read_text())
    held["examples"][0][key] = value
    (tmp_path / "other.json").write_text(json.dumps(held))
    with pytest.raises(AuditError, match=said) as error:
        importing(arms=roles(BASE, tmp_path / "other.json"))
    assert "gsm8k-test-0000" in error.value.message or key == "idx"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.update(schema_version=3), "schema_version 3"),
        (lambda held: held["config"].update(n_samples=5), "n_samples is not 1"),
        (lambda held: held["examples"].pop(), "do not give the summary's counts"),
        (lambda held: held["examples"][0].update(status="skipped"), r"examples\[0\]: .status. is 'skipped'"),
        (lambda held: held["summary"].update(errors=1), "counts 13 items, and config.test_size is 12"),
        (lambda held: held.pop("summary"), "no evaluation"),
    ],
)
def test_an_evaluation_that_contradicts_itself_is_refused(changed, change, said):
    with pytest.raises(AuditError, match=said):
        changed(BASE, change)


def test_a_failed_evaluation_is_errors_and_never_zeros(importing):
    told = importing(DATA / "gsm8k_test_results.json")
    assert "recorded as 'failed'" in told
    assert importing.sql("SELECT count(*), count(score), count(correct), count(DISTINCT item_id) FROM evals") == [
        (1319, 0, 0, 1319)
    ]
    ((listed, counted),) = importing.sql(
        "SELECT count(*) FILTER (WHERE error LIKE 'Could not import%'), "
        "count(*) FILTER (WHERE error LIKE '%not listed%') FROM evals"
    )
    assert (listed, counted) == (20, 1299)
    assert audited(importing, "evaluation_errors").check.status == "inconclusive"


@pytest.mark.parametrize(
    ("name", "planned", "executed", "status"),
    [("run_moe_gsm8k_qwen3-30b-moe", 30, 20, "fail"), ("run_scale_gsm8k_qwen3-8b", 30, 30, "pass")],
)
def test_a_training_run_that_stopped_early_is_found(importing, name, planned, executed, status):
    importing(DATA / f"{name}.json")
    assert importing.manifest.planned == {"rollout.rollout_batches": planned}
    assert importing.manifest.executed == {"rollout.rollout_batches": executed}
    assert audited(importing, "executed_settings").check.status == status


def test_figures_stand_at_their_step_and_those_of_no_step_in_run_json(importing, tmp_path):
    held = json.loads((DATA / "run_scale_gsm8k_qwen3-8b.json").read_text())
    importing(DATA / "run_scale_gsm8k_qwen3-8b.json")
    query = "SELECT step, value FROM scalars WHERE name = 'loss' ORDER BY step"
    assert importing.sql(query) == [(entry["step"] - 1, entry["loss"]) for entry in held["step_log"]]
    importing.out = tmp_path / "partial"
    importing(DATA / "run_moe_gsm8k_qwen3-30b-moe.json")
    assert importing.manifest.source["reward_trace"] == [0.188, 0.438, 0.062, 0.5, 0.438]
    assert importing.sql("SELECT DISTINCT step FROM scalars") == [(19,)]


@pytest.fixture
def pair(tmp_path):
    """A paired comparison of the samples, with the counts that they give."""

    def counts(base, other):
        pairs = list(zip(base, other, strict=True))
        names = ("both_correct", "base_correct_grpo_wrong", "base_wrong_grpo_correct", "both_wrong")
        return dict(zip(names, map(pairs.count, [(1, 1), (1, 0), (0, 1), (0, 0)]), strict=True))

    def right(path):
        return [int(example["status"] == "correct") for example in json.loads(path.read_text())["examples"]]

    for path in (BASE, *SEEDS):
        shutil.copy(path, tmp_path)
    base, seeds = right(BASE), [right(path) for path in SEEDS]
    majority = [int(sum(votes) >= 2) for votes in zip(*seeds, strict=True)]
    held = {
        "base_file": f"reports/final/{BASE.name}",
        "seed_files": [f"reports/final/{path.name}" for path in SEEDS],
        "per_seed": [
            {"label": path.stem, "contingency": counts(base, seed)} for path, seed in zip(SEEDS, seeds, strict=True)
        ],
        "majority_vote_5seeds": {"label": "vote", "contingency": counts(base, majority)},
    }
    (tmp_path / "paired.json").write_text(json.dumps(held))
    return tmp_path / "paired.json", majority


def test_a_majority_stands_beside_the_single_seeds_and_is_found(importing, pair):
    path, majority = pair
    importing(path)
    assert importing.sql("SELECT score FROM evals WHERE arm = 'treatment' ORDER BY item_id") == [(v,) for v in majority]
    settings = {(arm.arm, arm.settings["aggregation"]) for arm in importing.manifest.arms}
    assert settings == {("baseline", "single"), ("treatment", "majority_of_3"), ("single_seeds", "single")}
    assert "other aggregation" in audited(importing, "comparable_arms").check.reason


def test_counts_that_do_not_come_out_again_are_refused(importing, pair):
    path, _ = pair
    held = json.loads(path.read_text())
    held["majority_vote_5seeds"]["contingency"]["both_correct"] += 1
    path.write_text(json.dumps(held))
    with pytest.raises(AuditError, match="the evaluations of majority give both_correct"):
        importing(path)


def test_counts_without_the_evaluations_beside_them_are_refused(importing, pair):
    path, _ = pair
    (path.parent / SEEDS[1].name).unlink()
    with pytest.raises(AuditError, match=f"holds counts only, no item. {SEEDS[1].name}"):
        importing(path)


def test_a_list_of_checkpoints_is_refused_with_the_reason(importing):
    with pytest.raises(AuditError, match="lists checkpoints by name"):
        importing(DATA / "arithmetic_checkpoints.jsonl")


@needs_whole
@pytest.mark.parametrize("place", range(5))
def test_each_seed_gives_the_published_contingency_table(importing, place):
    published = json.loads((WHOLE / "p0_gsm8k_paired.json").read_text())["per_seed"][place]
    importing(arms=roles(WHOLE / "gsm8k_base_control_200.json", WHOLE / f"{published['label']}.json"))
    counts = decide(importing.run).criteria[0].counts
    assert (counts.both, counts.only_baseline, counts.only_treatment, counts.neither) == tuple(
        published["contingency"].values()
    )


@needs_whole
def test_five_seeds_gain_a_little_and_their_majority_much(importing, tmp_path):
    seeds = sorted(WHOLE.glob("gsm8k_heldout_seed*.json"))
    importing(arms=roles(WHOLE / "gsm8k_base_control_200.json", *seeds))
    (criterion,) = decide(importing.run).criteria
    assert criterion.estimate == pytest.approx(0.013)
    assert criterion.lower < 0 < criterion.upper
    importing.out = tmp_path / "majority"
    importing(WHOLE / "p0_gsm8k_paired.json")
    (criterion,) = decide(importing.run, options=RuleOptions(alpha=0.05)).criteria
    assert criterion.estimate == pytest.approx(0.055)
    assert audited(importing, "comparable_arms").check.status == "fail"


@needs_whole
@pytest.mark.parametrize("path", sorted(WHOLE.glob("*.json*")), ids=lambda path: path.name)
def test_every_public_file_imports_or_says_why_not(importing, path):
    if path.name == "arithmetic_checkpoints.jsonl":
        with pytest.raises(AuditError, match="holds neither figures nor outcomes"):
            importing(path)
    else:
        importing(path)
        assert importing.run.files
