"""GSM8K: the cookbook's own prompt, reward and order, on a small sample of the official files."""

import asyncio
import builtins
import json
from pathlib import Path

import pytest

from analysis.errors import AuditError
from analysis.plan.model import Dataset, Rollout, Task
from runner.loop.dataset_rows import DATA_VARIABLE, dataset_rows, shuffled_as_the_hub_does, source_of
from runner.loop.prompts import PromptRenderer
from runner.loop.task import Completion, load_task, training_grader

DATA = Path(__file__).parents[2] / "data"
DATASET = Dataset(name="gsm8k", hf_path="openai/gsm8k", config="main")
ROLLOUT = {
    "groups_per_batch": 2, "group_size": 2, "temperature": 1.0, "max_tokens": 16, "renderer": "qwen3_instruct",
    "updates_per_batch": 1, "rollout_batches": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _sample(monkeypatch, sdk):
    pytest.importorskip("tinker_cookbook.recipes.math_rl.math_env")
    monkeypatch.setenv(DATA_VARIABLE, str(DATA))


@pytest.fixture(scope="module")
def tokenizer():
    """Bytes, and the special tokens of ChatML with an end of text beside its stop token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(models.BPE({character: number for number, character in enumerate(alphabet)}, []))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    specials = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<|endoftext|>", additional_special_tokens=specials[:2]
    )


@pytest.fixture(scope="module")
def renderer(tokenizer):
    return PromptRenderer(tokenizer, Rollout(**ROLLOUT))


def _task(train=None, validation=5, test=12, order="as_given"):
    return Task(id="gsm8k", train_items=train, validation_items=validation, test_items=test, order=order)


def _problems(**sizes):
    return load_task("gsm8k").problems(_task(**sizes), DATASET)


def _split(problems, split):
    return [problem for problem in problems if problem.split == split]


def _official(split):
    return [json.loads(line) for line in (DATA / "gsm8k" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_train_is_in_the_cookbooks_order_without_what_is_held_out():
    import datasets

    problems = _problems()
    held_out = {problem.question for problem in _split(problems, "validation")}
    assert len(held_out) == 5
    shuffled = datasets.Dataset.from_list(_official("train")).shuffle(seed=0)["question"]
    wanted = [question for question in shuffled if question not in held_out]
    assert [problem.question for problem in _split(problems, "train")] == wanted
    assert len(wanted) == 19
    assert [problem.question for problem in _split(problems, "test")] == [row["question"] for row in _official("test")]


def test_gold_answers_and_ids_come_from_the_text():
    first = _split(_problems(), "test")[0]
    assert first.gold == "18"
    assert first.prompt_id == "gsm8k/test/2b2e3f9639f6fa28"
    problems = _problems()
    assert len({problem.prompt_id for problem in problems}) == len(problems)


def test_more_validation_items_hold_out_the_same_and_more():
    few = {p.prompt_id for p in _split(_problems(validation=3), "validation")}
    many = {p.prompt_id for p in _split(_problems(validation=9), "validation")}
    assert few < many
    train = {p.question for p in _split(_problems(validation=9), "train")}
    assert not train & {p.question for p in _split(_problems(validation=9), "validation")}


def test_what_is_held_out_depends_on_the_text_and_not_on_the_files_order(tmp_path, monkeypatch):
    held_out = [problem.prompt_id for problem in _split(_problems(validation=3), "validation")]
    assert held_out == [
        "gsm8k/validation/da32de9a8fdf17fa",
        "gsm8k/validation/e04a6ba1b453a05d",
        "gsm8k/validation/3097703f5bcc130a",
    ]
    (tmp_path / "gsm8k").mkdir()
    for split in ("train", "test"):
        lines = "".join(json.dumps(row) + "\n" for row in reversed(_official(split)))
        (tmp_path / "gsm8k" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert [problem.prompt_id for problem in _split(_problems(validation=3), "validation")] == held_out


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"train": 20}, r"task\.train_items is 20, but the data set has only 19 train items"),
        ({"validation": 25}, r"task\.validation_items is 25, .* only 24"),
        ({"test": 13}, r"task\.test_items is 13, .* only 12"),
    ],
)
def test_more_items_than_there_are_is_an_error(sizes, message):
    with pytest.raises(AuditError, match=message):
        _problems(**sizes)


def test_a_plan_without_a_data_set_is_told_what_to_write():
    with pytest.raises(AuditError, match="openai/gsm8k"):
        load_task("gsm8k").problems(_task(), None)


def test_the_prompt_is_the_cookbooks(renderer):
    from tinker_cookbook.recipes.math_rl.math_env import MathEnv

    problem = _split(_problems(), "test")[0]
    (prompt,) = renderer.render(load_task("gsm8k"), [problem])
    env = MathEnv(problem.question, problem.gold, renderer.chat, convo_prefix=MathEnv.standard_fewshot_prefix())
    observation, stop = asyncio.run(env.initial_observation())
    assert list(prompt.token_ids) == observation.to_ints()
    assert renderer.stop == stop
    assert prompt.rendered.count("<|im_start|>") == 4
    assert problem.question in prompt.rendered


def test_prompts_of_one_task_share_their_template(renderer):
    prompts = renderer.render(load_task("gsm8k"), _split(_problems(), "test"))
    assert len({prompt.template_sha256 for prompt in prompts}) == 1
    assert len({prompt.sha256 for prompt in prompts}) == len(prompts)


def test_a_plain_renderer_cannot_ask_in_turns(tokenizer):
    plain = PromptRenderer(tokenizer, Rollout(**{**ROLLOUT, "renderer": "plain"}))
    with pytest.raises(AuditError, match="asks in 3 turns"):
        plain.render(load_task("gsm8k"), _split(_problems(), "test"))


STOP, END_OF_TEXT, CUT = "<|im_end|>", "<|endoftext|>", ""


@pytest.mark.parametrize(
    ("text", "end", "reward", "correct", "extracted", "extraction"),
    [
        (r"\boxed{18}", STOP, 1.0, True, "18", "last_box"),
        (r"\boxed{18}", END_OF_TEXT, 0.9, True, "18", "last_box, no_stop_sequence"),
        (r"\boxed{18}", CUT, 0.9, True, "18", "last_box, no_stop_sequence"),
        (r"\boxed{17}", STOP, 0.0, False, "17", "last_box"),
        (r"\boxed{17}", CUT, -0.1, False, "17", "last_box, no_stop_sequence"),
        ("18", STOP, -0.1, False, None, "no_box"),
        (r"\boxed{12} \boxed{18}", STOP, 1.0, True, "18", "last_box"),
        (r"\boxed 18", STOP, 1.0, True, "18", "box_without_braces"),
        (r"\boxed{18} }", STOP, -0.1, False, None, "unmatched_brace"),
        (r"\boxed{5 apples}", STOP, 0.0, False, "5 apples", "last_box"),
    ],
)
def test_the_reward_is_the_cookbooks(renderer, tokenizer, text, end, reward, correct, extracted, extraction):
    problem = _split(_problems(), "test")[0]
    tokens = tokenizer.encode(text + end, add_special_tokens=False)
    completion = Completion(tokens, renderer.text_of(tokens), "stop" if end else "length")
    found = training_grader(load_task("gsm8k"), renderer.chat)(problem, completion)
    assert found.reward == pytest.approx(reward)
    assert (found.correct, found.extracted, found.extraction) == (correct, extracted, extraction)


def test_grading_works_inside_a_running_event_loop(renderer, tokenizer):
    problem = _split(_problems(), "test")[0]
    completion = Completion(tokenizer.encode(r"\boxed{18}<|im_end|>"), r"\boxed{18}", "stop")

    async def inside():
        return training_grader(load_task("gsm8k"), renderer.chat)(problem, completion)

    assert asyncio.run(inside()).reward == pytest.approx(1.0)


def test_parquet_files_hold_the_same_rows(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "gsm8k").mkdir()
    pq.write_table(pa.Table.from_pylist(_official("test")), tmp_path / "gsm8k" / "test.parquet")
    found = dataset_rows(DATASET, "test", {DATA_VARIABLE: str(tmp_path)})
    assert found == _official("test")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test.jsonl", '{"question": "a"}\n{', "line 2 is not JSON"),
        ("test.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("test.jsonl", b"\xff\xfe", "cannot be read"),
        ("test.parquet", "no parquet", "not a readable Parquet file"),
    ],
)
def test_a_damaged_local_file_is_named(tmp_path, name, content, message):
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(AuditError, match=message):
        dataset_rows(DATASET, "test", {DATA_VARIABLE: str(tmp_path)})


def test_missing_local_files_name_both_ways_out(tmp_path):
    with pytest.raises(AuditError, match=r"test\.jsonl nor .*test\.parquet is there.* unset RUNAUDIT_DATA"):
        dataset_rows(DATASET, "test", {DATA_VARIABLE: str(tmp_path)})


def test_a_run_records_where_its_rows_came_from():
    assert source_of(DATASET, {}) == "Hugging Face hub"
    assert source_of(DATASET, {DATA_VARIABLE: "/somewhere/private"}) == "RUNAUDIT_DATA/gsm8k"


def test_a_silent_hub_names_both_ways_out(monkeypatch):
    import datasets

    def refuse(*_arguments, **_options):
        raise ConnectionError("no route to host")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(AuditError, match=r"no route to host.*network access.*FOLDER/gsm8k/train\.jsonl.*RUNAUDIT_DATA"):
        dataset_rows(DATASET, "train", {})


def test_the_hub_is_asked_for_what_the_plan_names(monkeypatch):
    import datasets

    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *names, **options: asked.append((names, options)) or [])
    dataset = Dataset(name="gsm8k", hf_path="openai/gsm8k", config="main", revision="abc")
    assert dataset_rows(dataset, "train", {}) == []
    assert asked == [(("openai/gsm8k",), {"name": "main", "split": "train", "revision": "abc"})]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "q", "answer": "no final line"}], "row 0: `answer` has no line with `####`"),
        ([{"question": "q"}], "row 0: `question` and `answer` must both be text"),
    ],
)
def test_a_row_without_an_answer_is_named(tmp_path, monkeypatch, rows, message):
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(AuditError, match=message):
        _problems()


def test_a_question_in_two_splits_is_refused(tmp_path, monkeypatch):
    (tmp_path / "gsm8k").mkdir()
    for split in ("train", "test"):
        text = (DATA / "gsm8k" / "train.jsonl").read_text(encoding="utf-8")
        (tmp_path / "gsm8k" / f"{split}.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(AuditError, match=r"stands in the (train|validation) split too"):
        _problems()


def test_without_the_cookbooks_extra_the_error_says_what_to_install(monkeypatch):
    import sys

    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("tinker_cookbook.recipes"):
            raise ImportError("math-rl dependencies are required")
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "tinker_cookbook.recipes.math_rl.math_env")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AuditError, match=r"math-rl.*pip install 'runaudit\[train\]'"):
        load_task("gsm8k").messages("q")


def test_the_order_of_the_whole_train_split_is_frozen():
    assert shuffled_as_the_hub_does(7473, 0)[:3] == [5441, 2360, 5646]
