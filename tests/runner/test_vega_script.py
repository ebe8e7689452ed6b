"""The kept script is the one that would be made, or it is made again."""

import pytest

from runner import vega_script
from runner.vega_script import kept_script, made_script


@pytest.fixture(autouse=True)
def bundles(monkeypatch):
    made = []
    monkeypatch.setattr(vega_script, "javascript_bundle", lambda: made.append(1) or "draw();\nmore();\n")
    return made


def kept_file(root):
    (path,) = root.rglob("*.js")
    return path


def test_what_was_made_is_kept_for_the_next_page(tmp_path, bundles):
    assert kept_script(tmp_path) is None
    script = made_script(tmp_path)
    assert kept_script(tmp_path) == script == "draw();\nmore();\n"
    assert len(bundles) == 1


def test_another_version_is_another_script(tmp_path, monkeypatch):
    made_script(tmp_path)
    monkeypatch.setattr(vega_script, "version", lambda _: "99.0")
    assert kept_script(tmp_path) is None


@pytest.mark.parametrize("damage", [lambda text: text[:-3], lambda text: text + "x", lambda _: "", lambda _: "\n"])
def test_a_damaged_file_is_not_believed(tmp_path, damage):
    script = made_script(tmp_path)
    path = kept_file(tmp_path)
    path.write_text(damage(path.read_text()))
    assert kept_script(tmp_path) is None
    assert made_script(tmp_path) == kept_script(tmp_path) == script


def test_bytes_that_are_no_text_are_not_believed(tmp_path):
    made_script(tmp_path)
    kept_file(tmp_path).write_bytes(b"\xff\xfe")
    assert kept_script(tmp_path) is None


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    assert made_script(tmp_path / "file") == "draw();\nmore();\n"
    assert kept_script(tmp_path / "file") is None
