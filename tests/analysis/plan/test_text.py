import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AuditError
from analysis.plan.text import MAX_DEPTH, load_document

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


@given(JSON)
def test_json_is_read_as_it_is(document):
    assert load_document(json.dumps(document), source="p") == document


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,}', "line 1, column"),
        ("", "not JSON"),
        ('{"a":\n nope}', "line 2, column 2"),
        ("\ufeff{}", "BOM"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', "a.b: the key is given twice"),
        ('{"a": [{}, {"x": 1, "x": 1}]}', "a[1].x: the key is given twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"a": [9007199254740992]}', "a[0]: integers beyond 2^53 - 1"),
        ('{"a": -9007199254740992}', "a: integers beyond 2^53 - 1"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ('{"a": "\\ud800"}', "a: holds half of a surrogate pair"),
        ('{"\\udc00": 1}', "a key of the document: holds half of a surrogate pair"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "nested deeper than 64 levels"),
        ("[" * 200_000, "nested deeper than 64 levels"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_what_a_seal_could_not_hold_is_refused(text, message):
    with pytest.raises(AuditError, match=r"^p\.json: ") as caught:
        load_document(text, source="p.json")
    assert message in caught.value.message


def test_the_deepest_allowed_nesting_is_read():
    text = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    assert load_document(text, source="p") == json.loads(text)
