"""Graders of completions, one a file: `grade(completion, stop_reason, gold)` returns a `Grade`."""
