import pytest

from analysis.errors import AuditError
from audits.store.statements import is_blank, split_statements


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("", [], ""),
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1; SELECT\n2 ;x", ["SELECT 1", " SELECT\n2 "], "x"),
        ("SELECT 'a;b', \"c;d\", $$e;f$$, $x$;$x$;", ["SELECT 'a;b', \"c;d\", $$e;f$$, $x$;$x$"], ""),
        ("SELECT 1 -- a;b\n;", ["SELECT 1 -- a;b\n"], ""),
        ("SELECT 1 /* a;\nb; */;", ["SELECT 1 /* a;\nb; */"], ""),
        ("SELECT 'ü;' AS ß; x", ["SELECT 'ü;' AS ß"], " x"),
        ("SELECT 'open;", [], "SELECT 'open;"),
        ("/* open;", [], "/* open;"),
        ("SELECT [1;2];", ["SELECT [1", "2]"], ""),
        (";;", ["", ""], ""),
    ],
)
def test_only_a_semicolon_of_the_language_ends_a_statement(text, statements, rest):
    assert split_statements(text) == (statements, rest)


@pytest.mark.parametrize("text", ["", " \n", "-- x", "-- x;\n", "/* a; */ -- b"])
def test_space_and_whole_comments_are_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", "/* open", "'", "/* a */ 1", ";"])
def test_all_else_is_not(text):
    assert not is_blank(text)


def test_what_is_no_text_is_an_error():
    with pytest.raises(AuditError, match="UTF-8"):
        split_statements("SELECT '\udcff';")
