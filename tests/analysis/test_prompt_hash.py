"""The hash by which a prompt is known."""

import json
from hashlib import sha256

from analysis.prompt_hash import token_ids_sha256


def test_it_is_of_a_json_array_without_spaces():
    for token_ids in ([], [7], [0, 151643, 2]):
        written = json.dumps(token_ids, separators=(",", ":")).encode("ascii")
        assert token_ids_sha256(token_ids) == sha256(written).hexdigest()
