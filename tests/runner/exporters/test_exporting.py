"""The way back: what each format carries, what a round trip keeps, and what is told or refused."""

import csv
import json

import numpy as np
import pytest
from made_run import evals, made_plan, tokens, write_run

from audits.store.manifest import ArmRecord, Manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter
from runner.exporters.engine.registry import exporter_ids, load_exporter

HOSTILE = ["=1+1", "+2", "-3", "@SUM(A1)", 'a "quoted", cell', "two\r\nlines", "\x1b[31mred", "", "ünïcode 🙂", "\x00"]


def rows(run, query):
    with connect(open_run(run)) as connection:
        return connection.execute(query).fetchall()


def made_outcomes(run, unscored):
    """Write a run of outcomes with every column, of two arms whose texts are hostile."""
    manifest = Manifest(
        run_id="made", kind="imported", status="complete", started_at="2026-01-02T03:04:05+00:00",
        arms=[ArmRecord(arm=role, seed=0, role=role, name=role) for role in ("baseline", "treatment")],
    )  # fmt: skip
    writer = RunWriter.create(run, manifest, None)
    writer.write_prompts({"prompt_id": ["p0"], "split": ["test"], "question": ["=cmd|' /C calc'!A0"], "gold": ["=7"]})
    for seed, arm in enumerate(("baseline", "treatment")):
        score = [1 / 3, 0.1 + 0.2, 1.0, 0.0, 1.0, 1.0, unscored, 0.5, 2 / 3, float(seed)]
        texts = dict.fromkeys(("extracted", "gold", "completion", "extraction"), HOSTILE)
        error = ["@boom" if value is None else None for value in score]
        rest = {"stop_reason": "stop", "n_tokens": 3, "prompt_id": "p0", "correct": [s == 1.0 for s in score]}
        writer.write_evals(arm, 0, "final", evals(score, error=error, **texts, **rest))
    return run


@pytest.fixture
def outcomes(tmp_path):
    """A run of outcomes of which each arm has one error."""
    return made_outcomes(tmp_path / "outcomes", None)


@pytest.fixture
def logged(tmp_path):
    """A run with two updates a batch, whose log-probabilities use all digits of float32."""

    def tokens_of(arm, seed, step):
        random = np.random.default_rng([step, seed, len(arm)])
        draws = (-random.exponential(1.0, (12, 2)).astype(np.float32)).tolist()
        found = tokens([(number // 6, *pair, 0.1) for number, pair in enumerate(draws)], step)
        places = [number % 3 for number in range(12)]
        return found | {"rollout_id": [number // 3 for number in range(12)], "position": places}

    return write_run(tmp_path / "logged", made_plan(), tokens_of=tokens_of)


@pytest.mark.parametrize("word", exporter_ids())
def test_each_format_is_documented_and_has_what_the_protocol_asks(word):
    exporter = load_exporter(word)
    assert len(exporter.__doc__) > 200
    assert exporter.TABLE in ("evals", "tokens")
    assert isinstance(exporter.IS_FOLDER, bool)


def test_tokens_come_back_from_prime_rl_bit_for_bit(logged, tmp_path, audit):
    audit("export", logged, "--to", "prime-rl", "--out", tmp_path / "exported")
    assert audit.code == 0, audit.err
    names = 'step, "update", rollout_id, position, token_id, sampler_logprob, current_logprob, advantage'
    for arm, seed in rows(logged, "SELECT DISTINCT arm, seed FROM tokens"):
        source, back = tmp_path / "exported" / f"{arm}_seed{seed}", tmp_path / f"back-{arm}"
        audit("import", "prime-rl", source, "--out", back)
        assert audit.code == 0, audit.err
        assert "mismatch_kl: 0 of 24 loss tokens differ" in audit.out
        wanted = rows(logged, f"SELECT {names} FROM tokens WHERE arm = '{arm}' ORDER BY ALL")
        assert rows(back, f"SELECT {names} FROM tokens ORDER BY ALL") == wanted


def test_each_step_has_its_marker_and_its_prompt_before_the_loss_tokens(logged, tmp_path, audit):
    writer = RunWriter.reopen(logged)
    prompt = {"prompt_id": ["p0"], "split": ["train"], "question": ["q"], "gold": ["g"], "token_ids": [[5, 6]]}
    writer.write_prompts(prompt)
    audit("export", logged, "--to", "prime-rl", "--out", tmp_path / "exported")
    files = sorted((tmp_path / "exported").rglob("rank_0.jsonl"))
    assert len(files) == 4
    assert all((path.parent / "STABLE").exists() for path in files)
    first = json.loads(files[0].read_text().splitlines()[0])
    assert first["token_ids"] == [5, 6, 7, 7, 7]
    assert first["loss_mask"] == [False, False, True, True, True]


def test_a_sequence_with_a_gap_is_refused(tmp_path, audit):
    run = write_run(tmp_path / "run", tokens_of=lambda arm, seed, step: tokens([(0, -1, -1, 1)]) | {"position": [1],
                    "step": [step]})  # fmt: skip
    assert "lists of prime-rl have no gaps" in audit.refuses(
        "export", run, "--to", "prime-rl", "--out", tmp_path / "exported"
    )


def test_outcomes_come_back_from_csv_and_give_the_same_decision(tmp_path, audit):
    outcomes = made_outcomes(tmp_path / "outcomes", 0.25)
    audit("export", outcomes, "--out", tmp_path / "outcomes.csv")
    assert audit.code == 0, audit.err
    columns = (
        "arm, checkpoint, item_id, sample, score, correct, nullif(completion, ''), nullif(gold, ''), error, n_tokens"
    )
    audit(
        "import", "outcomes", tmp_path / "outcomes.csv", "--map", "arm=arm", "--arm", "baseline=baseline",
        "--arm", "treatment=treatment", "--out", tmp_path / "back",
    )  # fmt: skip
    assert audit.code == 0, audit.err
    query = f"SELECT {columns} FROM evals ORDER BY ALL"
    assert rows(tmp_path / "back", query) == rows(outcomes, query)
    decisions = []
    for run in (outcomes, tmp_path / "back"):
        audit("decide", run, "--format", "json")
        decisions.append({key: json.loads(audit.out)[key] for key in ("verdict", "criteria", "n_items")})
    assert decisions[0] == decisions[1]


def test_a_csv_cell_holds_the_text_as_it_is_and_formulas_are_told(outcomes, tmp_path, audit):
    audit("export", outcomes, "--to", "csv", "--out", tmp_path / "outcomes.csv")
    content = (tmp_path / "outcomes.csv").read_bytes()
    assert content.count(b"\r\n") == 21 + 8, "lines end as RFC 4180 says, and texts keep their own ends"
    with (tmp_path / "outcomes.csv").open(newline="", encoding="utf-8") as stream:
        found = [row["completion"] for row in csv.DictReader(stream) if row["arm"] == "baseline"]
    assert found == HOSTILE
    assert "note: 34 cells of text begin with" in audit.out


def test_inspects_frames_have_their_columns_and_what_they_lack_is_told(outcomes, tmp_path, audit):
    audit("export", outcomes, "--to", "inspect-csv", "--out", tmp_path / "frames")
    assert audit.code == 0, audit.err
    assert "left out: completion, extracted, extraction, stop_reason, n_tokens, correct of evals" in audit.out
    with (tmp_path / "frames" / "samples.csv").open(newline="", encoding="utf-8") as stream:
        first = next(csv.DictReader(stream))
    assert (first["id"], first["epoch"], first["target"]) == ("item-000", "1", "=1+1")
    assert float(first["score_recorded"]) == 1 / 3
    with (tmp_path / "frames" / "evals.csv").open(newline="", encoding="utf-8") as stream:
        evaluation = next(csv.DictReader(stream))
    assert (evaluation["total_samples"], evaluation["completed_samples"], evaluation["status"]) == ("10", "9", "error")
    assert evaluation["score_headline_value"] == "", "no mean of those that happen to have a score"


@pytest.mark.formats
def test_the_columns_are_those_of_inspects_own_frames(tmp_path):
    analysis = pytest.importorskip("inspect_ai.analysis", reason="needs inspect_ai with pandas")
    exporter = load_exporter("inspect-csv")
    # A star stands for columns of the tasks, the metadata and the scorers that an evaluation happens to have.
    evaluations = [column.name for column in analysis.EvalColumns if "*" not in column.name]
    assert ["eval_id", *evaluations] == list(exporter.EVALS)
    samples = [column.name for column in analysis.SampleSummary if column.name != "metadata_*"]
    own = ["score_*" if name == "score_recorded" else name for name in exporter.SAMPLES]
    assert ["sample_id", "eval_id", "log", *samples] == own


def test_what_cannot_be_exported_is_refused(outcomes, logged, tmp_path, audit):
    assert "table tokens was never logged" in audit.refuses(
        "export", outcomes, "--to", "prime-rl", "--out", tmp_path / "x"
    )
    assert 'did you mean "prime-rl"?' in audit.refuses("export", logged, "--to", "prime", "--out", tmp_path / "x")
    assert "--out is needed" in audit.refuses("export", outcomes)
    assert "lies inside the run" in audit.refuses("export", outcomes, "--out", outcomes / "x.csv")
    (tmp_path / "there.csv").write_text("mine")
    assert "is there already" in audit.refuses("export", outcomes, "--out", tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert "is not empty" in audit.refuses("export", outcomes, "--to", "inspect-csv", "--out", tmp_path)
