"""Zstandard streams, decompressed piece by piece."""

from typing import Any, BinaryIO


def zstd_stream(raw: BinaryIO) -> Any:
    """Return the decompressed content of a Zstandard stream as a file object of bytes.

    Args:
        raw: the compressed stream; several frames one after another are one content.

    Raises:
        OSError: while reading, where the stream is broken or cut off.
    """
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
