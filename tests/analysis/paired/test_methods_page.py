from pathlib import Path

from analysis.paired.methods import method_ids
from analysis.paired.methods_page import methods_page

PAGE = Path(__file__).parents[3] / "docs" / "methods.md"


def test_page_in_the_repository_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == methods_page(), (
        'write it anew: python -c "from analysis.paired.methods_page import methods_page; '
        "from pathlib import Path; Path('docs/methods.md').write_text(methods_page(), encoding='utf-8')\""
    )


def test_every_method_has_a_row():
    assert [f"| `{method_id}` |" in methods_page() for method_id in method_ids()] == [True] * len(method_ids())
