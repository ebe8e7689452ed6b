"""The tables in the documentation are generated, so they never drift from the code."""

import os
import re
from pathlib import Path

import pytest

from analysis.plan.schema import field_table, lint_table

PAGE = Path(__file__).parents[3] / "docs" / "plan-format.md"


@pytest.mark.parametrize(("name", "table"), [("fields", field_table), ("lints", lint_table)])
def test_the_table_in_the_page_is_the_code_s(name, table):
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- {name}: begin [^\n]*-->\n)(.*?)(<!-- {name}: end -->)", re.DOTALL)
    if os.environ.get("RUNAUDIT_WRITE"):
        text = block.sub(lambda found: f"{found[1]}{table()}\n{found[3]}", text)
        PAGE.write_text(text, encoding="utf-8")
    shown = block.search(text)
    assert shown is not None
    assert shown[2].strip() == table(), "run again with RUNAUDIT_WRITE=1"


def test_the_field_table_follows_lists_and_mappings():
    paths = re.findall(r"^\| `([^`]+)`", field_table(), re.MULTILINE)
    assert {"losses.<id>.delta", "arms[].seed", "preflights.correctness.settings", "budget.gpu_hours"} <= set(paths)
    assert "decision_rule.criteria[].band" in paths
    assert len(paths) == len(set(paths))
