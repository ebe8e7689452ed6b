r"""How tinker-cookbook 0.5.8's two GSM8K graders and ours judge the same completions, and why ours judges so.

`training`: the reward's grader (last box, string and sympy comparison). `benchmark`: the evaluation's grader (first
box, then `####`, then looser patterns; floats within 1e-5). Both columns are executed here. They disagree in half of
the rows, so a curve must never mix them.
"""

import logging

import pytest

from analysis.graders.boxed_number import grade

ROWS = [
    # completion, gold, training, benchmark, ours, why ours is so
    (r"\boxed{1,234}", "1234", True, True, True, "a comma before three digits separates thousands"),
    (r"\boxed{\$18}", "18", True, True, True, "a currency sign says what is counted, not how many"),
    (r"\boxed{18.00}", "18", True, True, True, "trailing zeros change no rational number"),
    (r"\boxed{18 dollars}", "18", False, True, True, "a unit in words leaves the number as it is"),
    (r"\boxed{18\text{ dollars}}", "18", True, True, True, "the same unit in LaTeX"),
    (r"\boxed{\text{18 dollars}}", "18", False, False, True, "the same answer, all of it set as text"),
    (r"\boxed{5 hours}", "5", True, True, True, "a unit that the training grader happens to know"),
    (r"\boxed{5 apples}", "5", False, True, True, "a unit that it does not know: units are no list"),
    (r"\boxed{50\%}", "50", True, True, True, "the gold answer of a percentage is its figure"),
    (r"\boxed{profit = 18}", "18", False, True, True, "a name for the answer is not part of it"),
    (r"\boxed{x = 18}", "18", True, True, True, "a short name, the same"),
    (r"\boxed{70{,}000}", "70000", True, True, True, "LaTeX writes the thousands comma in braces"),
    (r"\boxed{70\,000}", "70000", False, False, True, "LaTeX's thin space separates thousands"),
    (r"\boxed{36/2}", "18", False, False, True, "an exact fraction has one value, reduced or not"),
    (r"\boxed{\frac{36}{2}}", "18", False, False, True, "the same fraction in LaTeX"),
    (r"\boxed{3 1/2}", "3.5", True, False, True, "a mixed number with a proper fraction has one reading"),
    (r"\boxed{1e3}", "1000", True, False, True, "scientific notation; read as 1 it would be another number"),
    (r"\boxed{10^2}", "100", False, False, True, "a power of plain numbers has one value"),
    (r"\boxed{18 or 20}", "18", False, True, False, "two answers are none: the benchmark takes the first it sees"),
    (r"\boxed{12} no, \boxed{18}", "18", True, False, True, "the last box is what the model settled on"),
    (r"\boxed{18} no, \boxed{12}", "18", False, True, False, "it settled on 12"),
    ("#### 18", "18", False, True, False, "no box: the prompt asked for one, and the plan registered it"),
    ("The answer is 18.", "18", False, True, False, "no box"),
    (r"\boxed{18} trailing }", "18", False, True, True, "what follows a closed box does not take it back"),
    (r"\boxed{1,2345}", "12345", False, True, False, "this comma separates no thousands: 1 and 2345, or a slip"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cookbook():
    """The two graders of tinker-cookbook as its own code calls them."""
    math_grading = pytest.importorskip("tinker_cookbook.recipes.math_rl.math_grading")
    check_gsm8k = pytest.importorskip("tinker_cookbook.eval.benchmarks._common").check_gsm8k
    logging.getLogger("tinker_cookbook").setLevel(logging.ERROR)

    def training(completion, gold):
        try:
            return bool(math_grading.grade_answer(math_grading.extract_boxed(completion), gold))
        except ValueError:
            return False

    return training, check_gsm8k


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_both_graders_of_the_cookbook_and_ours_on_one_completion(row, cookbook):
    completion, gold, by_training, by_benchmark, ours, _ = row
    training, benchmark = cookbook
    assert (training(completion, gold), benchmark(completion, gold)) == (by_training, by_benchmark)
    assert grade(completion, "stop", gold).correct == ours
