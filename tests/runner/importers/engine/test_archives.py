"""Archives are read within bounds, and nothing that they say of themselves is believed."""

import os
import tracemalloc

import pytest
from made_archive import DEFLATED, STORED, ZSTANDARD, deflated, member, write_archive, zstandard

from analysis.errors import AuditError
from runner.importers.engine import archives
from runner.importers.engine.archives import is_archive, open_archive

CONTENT = b"a line of a log\n" * 200_000
# What deflate still holds when a block of output is full and all input is taken.
PENDING = b"\0" * ((1 << 20) + 5)


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
@pytest.mark.parametrize("content", [b"", b"x", os.urandom(70_000), CONTENT, PENDING], ids=len)
def test_a_member_comes_out_as_it_went_in(tmp_path, method, content):
    path = write_archive(tmp_path / "x.zip", [member("first", b"1"), member("a/b.json", content, method=method)])
    with open_archive(path) as archive:
        assert archive.names == ("first", "a/b.json")
        assert archive.read("a/b.json") == content
        assert archive.read("first") == b"1"


def test_several_zstandard_frames_are_one_member(tmp_path):
    packed = zstandard(CONTENT) + zstandard(b"and the end")
    path = write_archive(tmp_path / "x.zip", [member("x", CONTENT + b"and the end", method=ZSTANDARD, packed=packed)])
    with open_archive(path) as archive:
        assert archive.read("x") == CONTENT + b"and the end"


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
@pytest.mark.parametrize("fault", [{"size": 10}, {"size": 10**6}, {"crc": 7}], ids=["more", "less", "other"])
def test_a_member_that_is_not_what_its_entry_says_is_refused(tmp_path, method, fault):
    path = write_archive(tmp_path / "x.zip", [member("samples/7.json", b"y" * 1000, method=method, **fault)])
    with open_archive(path) as archive, pytest.raises(AuditError, match=r"x\.zip, samples/7\.json: .*came out"):
        archive.read("samples/7.json")


@pytest.mark.parametrize(("method", "packer"), [(DEFLATED, deflated), (ZSTANDARD, zstandard)])
def test_more_than_the_entry_says_is_never_held(tmp_path, method, packer):
    packed = packer(b"\0" * (200 << 20))
    path = write_archive(tmp_path / "x.zip", [member("x", method=method, packed=packed, size=100)])
    tracemalloc.start()
    with open_archive(path) as archive, pytest.raises(AuditError, match="more came out of it than the 100 bytes"):
        archive.read("x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


@pytest.mark.parametrize("method", [DEFLATED, ZSTANDARD])
def test_what_compresses_beyond_any_log_is_refused(tmp_path, monkeypatch, method):
    monkeypatch.setattr(archives, "_ALWAYS_ALLOWED", 1 << 20)
    path = write_archive(tmp_path / "x.zip", [member(f"{n}", b"\0" * (400 << 10), method=method) for n in range(3)])
    with open_archive(path) as archive:
        archive.read("0")
        archive.read("1")
        with pytest.raises(AuditError, match=r"x\.zip, 2: .*more than 200 times as many"):
            archive.read("2")


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("_MOST_ENTRIES", "3 members, more than 2"),
        ("_LARGEST_MEMBER", "4 bytes, more than the 2 of one member"),
        ("_LARGEST_TOTAL", "12 bytes in all, more than 2"),
        ("_LARGEST_DIRECTORY", "its list of members has"),
    ],
)
def test_an_archive_beyond_a_bound_is_refused(tmp_path, monkeypatch, bound, said):
    monkeypatch.setattr(archives, bound, 2 if bound != "_LARGEST_DIRECTORY" else 100)
    path = write_archive(tmp_path / "x.zip", [member(f"{n}", b"four") for n in range(3)])
    with pytest.raises(AuditError, match=said), open_archive(path):
        pass


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([member("x", flags=1)], "encrypted"),
        ([member("x", method=12)], "compressed by method 12"),
        ([member("../x")], "leads out"),
        ([member("a/../../x")], "leads out"),
        ([member("a\\..\\x")], "leads out"),
        ([member("/etc/passwd")], "leads out"),
        ([member("C:\\x")], "leads out"),
        ([member("x", b"1"), member("y"), member("x", b"2")], "x stands more than once"),
        ([member("\x1b[31mred\x1b[0m"), member("../\x1b[31m")], "leads out"),
    ],
)
def test_what_no_tool_writes_is_refused(tmp_path, members, said):
    path = write_archive(tmp_path / "x.zip", members)
    with pytest.raises(AuditError, match=said) as error, open_archive(path):
        pass
    assert "\x1b" not in error.value.message


def test_the_last_of_a_name_is_read_where_the_tool_means_it(tmp_path):
    path = write_archive(tmp_path / "x.zip", [member("x", b"1"), member("y"), member("x", b"2")])
    with open_archive(path, last_wins=True) as archive:
        assert (archive.names, archive.read("x"), archive.superseded) == (("x", "y"), b"2", 1)


def test_an_archive_inside_is_bytes_and_stays_closed(tmp_path):
    inside = write_archive(tmp_path / "inside.zip", [member("../escape", b"\0" * 1000)])
    path = write_archive(tmp_path / "x.zip", [member("inside.zip", inside.read_bytes())])
    with open_archive(path) as archive:
        assert archive.names == ("inside.zip",)
        assert archive.read("inside.zip") == inside.read_bytes()


def refusal(path):
    """Return why an archive or one of its members is refused, None where all of it is read."""
    try:
        with open_archive(path) as archive:
            for name in archive.names:
                archive.read(name)
    except AuditError as error:
        return error.message
    return None


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_cut_and_changed_archives_are_refused_in_one_message(tmp_path, method):
    members = [member(f"{n}.json", os.urandom(200), method=method) for n in range(3)]
    content = write_archive(tmp_path / "x.zip", members).read_bytes()
    path, messages = tmp_path / "y.zip", []
    for place in range(0, len(content), 7):
        for changed in (content[:place], content[:place] + b"\xff" + content[place + 1 :]):
            path.write_bytes(changed)
            messages.append(refusal(path))
    refused = [message for message in messages if message is not None]
    assert len(refused) > 0.75 * len(messages)
    assert max(map(len, refused)) < 1000


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "absent.zip", tmp_path / "pipe"):
        assert not is_archive(path)
        with pytest.raises(AuditError, match=path.name), open_archive(path):
            pass
