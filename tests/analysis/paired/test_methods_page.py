from pathlib import Path

import pytest

from analysis.paired.methods import method_ids
from analysis.paired.methods_page import methods_page

PAGE = Path(__file__).parents[3] / "docs" / "methods.md"


def test_page_in_the_repository_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == methods_page(), (
        'write it anew: python -c "from analysis.paired.methods_page import methods_page; '
        "from pathlib import Path; Path('docs/methods.md').write_text(methods_page(), encoding='utf-8')\""
    )


@pytest.mark.parametrize(
    ("unit", "heading"), [("fixed_checkpoint_items", "## For fixed"), ("training_seeds", "## For training")]
)
def test_every_method_has_a_row_under_its_unit(unit, heading):
    section = methods_page().split(heading)[1].split("\n## ")[0]
    rows = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(rows) == list(method_ids(unit))
    assert len(rows) >= 3
