"""docs/importers.md is what the importers say: `RUNAUDIT_WRITE=1 pytest` on this file writes it."""

import os
import re
from pathlib import Path

import pytest

from runner.importers.engine.documentation import documented, importer_words, importers_list, importers_page
from runner.importers.engine.registry import importer_ids, load_importer
from runner.importers.engine.tables.fields import FIELDS

PAGE = Path(__file__).parents[4] / "docs" / "importers.md"


def test_the_page_is_what_the_importers_say():
    if os.environ.get("RUNAUDIT_WRITE"):
        PAGE.write_text(importers_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == importers_page()


@pytest.mark.parametrize("importer_id", importer_ids())
def test_an_importer_has_its_section_and_its_line(importer_id):
    section = importers_page().split(f"\n## {importer_id}\n")[1].split("\n## ")[0]
    module = load_importer(importer_id)
    assert module.__doc__.strip() in section
    assert ("| `--item` | refused" in section) == (not module.ITEM_COLUMN)
    assert ("| `--map` | refused" in section) == (not module.MAPPED)
    listed = " ".join(importers_list().split())
    assert f"{importer_id} {documented(importer_id).title}" in listed
    assert module.__doc__.strip() in importer_words(importer_id)


@pytest.mark.parametrize("importer_id", importer_ids())
def test_the_first_sentence_says_what_is_read(importer_id):
    title = documented(importer_id).title
    assert 20 < len(title) < 140
    assert not title.endswith(".")


def test_every_field_of_a_table_is_listed_with_what_its_cells_are():
    for name, field in FIELDS.items():
        assert re.search(rf"^{name} +{re.escape(field.needed)}", importers_list(), re.MULTILINE)
        assert f"| `{name}` | {field.needed}" in importers_page()
