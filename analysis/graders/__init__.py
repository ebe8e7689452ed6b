"""Graders of completions, one a file.

`grade(completion, stop_reason, gold)` returns a `Grade`; `example(gold)` writes a completion that is right for a gold
answer, so that a run's grader can be tried on known answers.
"""
