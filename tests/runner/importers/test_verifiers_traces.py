"""Episodes of verifiers 0.4: whose work they were, what a reward is, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError

DATA = Path(__file__).parents[2] / "data" / "verifiers_traces"


def lines(kind="train"):
    return [json.loads(line) for line in (DATA / kind / "traces.jsonl").read_text().splitlines()]


def written(folder, records):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def assistant(record):
    return record["traces"][0]["nodes"][1]


def test_training_work_gives_rollouts_in_groups_with_the_policy_that_sampled_them(importing):
    importing(DATA / "train" / "traces.jsonl")
    assert importing.sql(
        "SELECT step, group_id, count(*), avg(reward), min(n_tokens), any_value(sampler_version) "
        "FROM rollouts GROUP BY ALL ORDER BY ALL"
    ) == [(5, 0, 4, 0.5, 4, "3-5"), (5, 1, 4, 0.5, 4, "3-5")]
    assert importing.sql("SELECT question, gold, split FROM prompts ORDER BY ALL") == [
        ("What is 0 plus 1?", "1", "train"), ("What is 1 plus 1?", "2", "train")
    ]  # fmt: skip


def test_tokens_are_the_masked_ones_with_both_log_probabilities(importing):
    importing(DATA / "train" / "traces.jsonl")
    node = assistant(lines()[3])
    wanted = zip(node["token_ids"][1:], node["logprobs"], node["trainer_logprobs"], node["advantages"], strict=True)
    found = importing.sql(
        "SELECT token_id, sampler_logprob::DOUBLE, current_logprob::DOUBLE, advantage::DOUBLE FROM tokens "
        "WHERE rollout_id = 3 ORDER BY position"
    )
    assert found == [pytest.approx(row) for row in wanted]


def test_rounding_is_recorded_with_the_run_and_told(importing):
    told = importing(DATA / "train" / "traces.jsonl")
    assert importing.manifest.source["logprob_decimals"] == 4
    assert "log-probabilities have 4 decimals: each is off by up to 5e-05 nats" in told


def test_log_probabilities_with_all_their_digits_are_not_called_rounded(importing, tmp_path):
    records = lines()
    assistant(records[0])["logprobs"][0] = -0.04123456789
    importing(written(tmp_path, records))
    assert "logprob_decimals" not in importing.manifest.source


def test_evaluation_work_gives_outcomes_of_its_step_and_errors_have_no_score(importing):
    told = importing(DATA / "eval" / "traces.jsonl")
    assert importing.sql("SELECT checkpoint, score, error, gold FROM evals ORDER BY gold") == [
        ("step000005", 1.0, None, "101"), ("step000005", 0.0, None, "102"), ("step000005", 1.0, None, "103"),
        ("step000005", 0.0, None, "104"), ("step000005", 1.0, None, "105"),
        ("step000005", None, "ProviderError: 503: overloaded", "106"),
    ]  # fmt: skip
    assert "--map final=… says which" in told


def test_the_final_evaluation_is_the_one_that_is_named(importing, audit):
    path = str(DATA / "eval" / "traces.jsonl")
    audit("import", "verifiers-traces", path, "--map", "final=step000005", "--out", importing.out)
    assert audit.code == 0, audit.err
    assert importing.sql("SELECT DISTINCT checkpoint FROM evals") == [("final",)]
    assert "there is no such checkpoint (step000005)" in audit.refuses("import", path, "--map", "final=x", "--dry-run")
    assert "only the final evaluation" in audit.refuses("import", path, "--map", "score=x", "--dry-run")


def test_an_evaluation_run_of_its_own_is_the_final_one_and_repeats_are_samples(importing, tmp_path):
    records = [record | {"run": {"type": "eval", "id": "e"}} for record in lines("eval")]
    records += [record | {"id": f"again {record['id']}"} for record in records]
    importing(written(tmp_path, records))
    assert importing.sql("SELECT checkpoint, sample, count(*) FROM evals GROUP BY ALL ORDER BY ALL") == [
        ("final", 0, 6), ("final", 1, 6)
    ]  # fmt: skip


def test_a_folder_of_rollouts_is_a_source(importing, tmp_path):
    for kind in ("train", "eval"):
        folder = tmp_path / "run" / "rollouts" / "step_5" / kind / "all"
        folder.mkdir(parents=True)
        shutil.copy(DATA / kind / "traces.jsonl", folder / "traces.jsonl")
    importing(tmp_path / "run")
    assert importing.sql("SELECT (SELECT count(*) FROM rollouts), (SELECT count(*) FROM evals)") == [(8, 6)]
    assert [file["name"] for file in importing.manifest.source["files"]] == [
        f"rollouts/step_5/{kind}/all/traces.jsonl" for kind in ("eval", "train")
    ]


def test_an_episode_that_stands_twice_is_refused(importing, tmp_path):
    records = lines()
    with pytest.raises(AuditError, match=r"line 9, item .*: episode episode-0-0 stands twice"):
        importing(written(tmp_path, [*records, records[0]]))


def test_rewards_are_weighted_and_added(importing, tmp_path):
    (record, *_) = lines()
    record["traces"][0]["rewards"] = {"a": {"score": 1.0, "weight": 0.5}, "b": {"score": 0.5, "weight": 0.2}}
    told = importing(written(tmp_path, [record]))
    assert importing.sql("SELECT reward FROM rollouts") == [(pytest.approx(0.6),)]
    assert "the reward is the sum of a x 0.5, b x 0.2" in told


def test_a_training_episode_without_a_reward_is_told_by_its_item(importing, tmp_path):
    records = lines()
    records[0]["traces"][0]["rewards"] = {"correct": None}
    told = importing(written(tmp_path, records))
    assert "1 training episode without a reward, of which there is no rollout: f2b25" in told
    assert importing.sql("SELECT count(*) FROM rollouts") == [(7,)]


def test_rollouts_without_the_trainers_log_probabilities_have_no_tokens(importing, tmp_path):
    records = lines()
    for record in records:
        del assistant(record)["trainer_logprobs"]
    assert "tokens of 8 rollouts" in importing(written(tmp_path, records))
    assert not importing.run.has("tokens")
    assert importing.run.has("rollouts")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda trace: trace["nodes"].append(trace["nodes"][1] | {"parent": 1}), "an episode of 2 turns"),
        (lambda trace: trace["nodes"][1]["mask"].__setitem__(2, False), "several spans"),
        (lambda trace: trace["nodes"][0]["mask"].__setitem__(0, True), "a message that no call sampled"),
        (lambda trace: trace["nodes"][1]["logprobs"].pop(), '"logprobs" has 3 entries for 4 tokens'),
        (lambda trace: trace["nodes"][1].update(parent=1), '"parent" is 1|form a circle'),
    ],
)
def test_what_is_no_single_turn_is_refused_with_its_place(importing, tmp_path, fault, message):
    records = lines()
    fault(records[1]["traces"][0])
    with pytest.raises(AuditError, match=rf"line 2.*({message})"):
        importing(written(tmp_path, records))


def test_several_agents_are_refused_with_the_item(importing, tmp_path):
    records = lines()
    records[0]["traces"] *= 2
    with pytest.raises(AuditError, match=r"line 1, item f2b25.*: an episode of 2 traces"):
        importing(written(tmp_path, records))


@pytest.mark.formats
def test_what_verifiers_writes_afresh_is_imported(importing, tmp_path):
    pytest.importorskip("verifiers.v1", reason="needs verifiers 0.4")
    module = loaded_module(DATA / "write.py")
    module.write(tmp_path)
    importing(tmp_path)
    assert importing.sql("SELECT (SELECT count(*) FROM tokens), (SELECT count(*) FROM evals)") == [(32, 6)]
