"""Plans to start from: the two files as their author wrote them, and the shipped format-3 plans."""

import copy
import json
from pathlib import Path

import pytest

from analysis.plan.lint import lint
from analysis.plan.parse import parse_plan
from runner.loop.plans import shipped_plans

SPECS = Path(__file__).parents[2] / "data" / "specs"


def _load(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def v1():
    return _load(SPECS / "dppo_vs_grpo_v1.json")


@pytest.fixture
def v2():
    return _load(SPECS / "dppo_vs_grpo_v2.json")


@pytest.fixture
def resolved_v1():
    return _load(shipped_plans()["dppo_vs_grpo_v1"])


@pytest.fixture
def resolved_v2():
    return _load(shipped_plans()["dppo_vs_grpo_v2"])


@pytest.fixture
def demo():
    return _load(shipped_plans()["demo"])


@pytest.fixture
def found():
    """Return what one lint finds in a document, with changes `{"rollout.group_size": 4}` made first."""

    def run(document, lint_id, changes=None):
        changed = copy.deepcopy(document)
        for path, value in (changes or {}).items():
            *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
            target = changed
            for part in parents:
                target = target[part]
            target[last] = value
        return [finding for finding in lint(parse_plan(changed, source="p")) if finding.lint == lint_id]

    return run
