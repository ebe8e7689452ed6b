"""One rank's file of one step of a prime-rl token export."""

import json

from prime_rl_log import sequence, write_rank

ARMS = [("treatment", "rank_0")]
ROWS = {"tokens": 18}
UNKNOWN = "kv_cache_hits"


def sample(folder):
    return write_rank(folder, [sequence(number) for number in range(3)])


def with_unknown_keys(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"kv_cache_hits": 3}) + "\n" for line in lines))
