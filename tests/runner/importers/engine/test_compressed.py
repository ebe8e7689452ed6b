"""Compressed sources: the same run, and nothing that inflates without end."""

import gzip
import json

import pyarrow as pa
import pytest

from analysis.errors import AuditError
from runner.importers.engine import compressed, source_files
from runner.importers.engine.source_files import json_lines, peek, source_file

LINES = "".join(json.dumps({"step": i, "optim/lr": 0.1}) + "\n" for i in range(200)).encode()


def packed(content, suffix):
    if suffix == ".gz":
        return gzip.compress(content)
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".GZ"])
def test_lines_come_out_of_a_compressed_file_as_they_went_in(tmp_path, suffix):
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(packed(LINES, suffix.lower()))
    assert [record.values["step"] for record in json_lines(path)] == list(range(200))
    assert peek(path) == {"step": 0, "optim/lr": 0.1}
    assert source_file(path).bytes == len(path.read_bytes()), "the digest is of the file as it stands"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_members_one_after_another_are_one_content(tmp_path, suffix):
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(packed(LINES, suffix) + packed(LINES, suffix))
    assert len(list(json_lines(path))) == 400


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("cut", [1, 9, -1, -20])
def test_a_compressed_file_that_was_cut_off_is_refused(tmp_path, suffix, cut):
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(packed(LINES, suffix)[:cut])
    with pytest.raises(AuditError, match=rf"m\.jsonl{suffix}: not readable as a compressed file.*cut off"):
        list(json_lines(path))
    assert peek(path) is None or cut == -1


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("content", [LINES, b"PK\x03\x04" + bytes(99), b"\xff" * 99])
def test_what_only_is_called_compressed_is_refused(tmp_path, suffix, content):
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(content)
    with pytest.raises(AuditError, match="not readable as a compressed file"):
        list(json_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_bomb_is_stopped_at_its_ratio(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(compressed, "_ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(packed(b'{"step": 0}\n' * 1_000_000, suffix))
    with pytest.raises(AuditError, match="more than 200 times as many"):
        list(json_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_what_is_too_much_in_all_is_stopped(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(compressed, "_LARGEST", 5_000)
    path = tmp_path / f"m.jsonl{suffix}"
    path.write_bytes(packed(LINES, suffix))
    with pytest.raises(AuditError, match="more than 5,000 bytes came out"):
        list(json_lines(path))


def test_a_line_without_end_is_refused_and_never_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(source_files, "_LONGEST_LINE", 1_000)
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"step": 0}\n' + b" " * 5_000)
    with pytest.raises(AuditError, match="line 2: longer than 1,000 bytes"):
        list(json_lines(path))
