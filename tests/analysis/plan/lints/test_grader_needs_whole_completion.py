LINT = "grader_needs_whole_completion"


def test_finds_a_grader_that_reads_no_box_on_gsm8k(resolved_v2, found):
    (finding,) = found(resolved_v2, LINT, {"evaluation.grader": "numeric_exact"})
    assert finding.path == "evaluation.grader"
    assert "every item would score 0" in finding.message
    assert "boxed_number" in finding.mend


def test_silent_on_the_box_grader_and_on_tasks_whose_answer_is_the_completion(resolved_v2, demo, found):
    assert found(resolved_v2, LINT) == []
    assert found(demo, LINT) == []
