from pathlib import Path

from runner.cache import cache_root


def test_the_cache_is_where_the_user_says(tmp_path):
    assert cache_root({"RUNAUDIT_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_root({"XDG_CACHE_HOME": "/b"}) == Path("/b/runaudit")
    assert cache_root({}) == Path.home() / ".cache" / "runaudit"
