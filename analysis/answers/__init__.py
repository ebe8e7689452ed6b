"""Answers in completions: how one is found (`extractors/`, one way a file) and when it is the gold number."""
