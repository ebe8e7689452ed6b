"""Runs with one frame, and one whose test prompts have a system text that no training prompt has."""

from executed_run import FRAME, prompts, write_executed

FAULTS = {1, 500}


def passing(path):
    return write_executed(path)


def failing(path, faulty):
    def frame_of(split, number):
        return f"You are helpful. {FRAME}" if split == "test" and number < faulty else FRAME

    return write_executed(path, prompt_columns=prompts({"train": 8, "test": 1000}, frame_of))
