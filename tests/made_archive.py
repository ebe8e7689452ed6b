"""Zip archives field by field, so that one can lie in any of them."""

import struct
import zlib

import pyarrow as pa

STORED, DEFLATED, ZSTANDARD = 0, 8, 93


def deflated(content):
    """Return raw deflate, as in a zip archive."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def zstandard(content):
    """Return one Zstandard frame."""
    return pa.compress(content, "zstd", asbytes=True)


def member(name, content=b"{}", *, method=DEFLATED, packed=None, size=None, crc=None, flags=0, local_name=None):
    """Return a member's local header with its bytes, and its entry in the archive's list without the place."""
    packers = {STORED: bytes, DEFLATED: deflated, ZSTANDARD: zstandard}
    packed = packers.get(method, bytes)(content) if packed is None else packed
    size, crc = len(content) if size is None else size, zlib.crc32(content) if crc is None else crc
    fields = struct.pack("<HHHHHLLL", 20, flags, method, 0, 0x21, crc, len(packed), size)
    encoded, local = name.encode(), (local_name or name).encode()
    here = b"PK\x03\x04" + fields + struct.pack("<HH", len(local), 0) + local + packed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHHHL", len(encoded), 0, 0, 0, 0, 0)
    return here, entry, encoded


def write_archive(path, members):
    """Write an archive of members, and return its path."""
    body, listed = b"", b""
    for here, entry, name in members:
        listed += entry + struct.pack("<L", len(body)) + name
        body += here
    end = struct.pack("<HHHHLLH", 0, 0, len(members), len(members), len(listed), len(body), 0)
    path.write_bytes(body + listed + b"PK\x05\x06" + end)
    return path
