"""Addition asked in words: the sums and splits of the addition task, in a chat turn, graded by the last number."""

from analysis.plan.model import Task
from runner.loop.task import Completion, load_task
from runner.loop.tasks import addition

TASK = Task(id="addition_chat", train_items=20, validation_items=10, test_items=15)
CHAT = load_task("addition_chat")


def test_items_are_those_of_the_addition_task():
    asked, plain = CHAT.problems(TASK, None), addition.problems(TASK, None)
    assert [(p.prompt_id, p.split, p.gold) for p in asked] == [(p.prompt_id, p.split, p.gold) for p in plain]
    assert len(asked) == 45


def test_the_turn_holds_the_question_as_it_stands_so_that_all_items_share_one_template():
    for problem in CHAT.problems(TASK, None):
        (turn,) = CHAT.messages(problem.question)
        first, second = problem.prompt_id.removeprefix("addition/").split("+")
        assert turn == {"role": "user", "content": f"What is {first} + {second}? Answer with only the number."}
        assert problem.question in turn["content"]


def test_a_sentence_that_ends_in_the_sum_has_the_reward():
    problem = CHAT.problems(TASK, None)[0]
    said = f"{problem.question} = {problem.gold}"
    assert CHAT.grade(problem, Completion([1], said, "stop"), None).reward == 1.0
    assert CHAT.grade(problem, Completion([1], said, "length"), None).reward == 0.0
