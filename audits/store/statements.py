"""Cuts a text into SQL statements as the engine's own tokenizer reads it."""

from analysis.errors import AuditError


def split_statements(text: str) -> tuple[list[str], str]:
    """Return the statements that end with a semicolon, and the rest that has none yet.

    A semicolon inside a string, a quoted name, a dollar-quoted text or a comment ends nothing.

    Raises:
        AuditError: the text is not UTF-8.
    """
    content = utf8(text)
    statements, start = [], 0
    for offset, _ in _tokens(content):
        if content[offset : offset + 1] == b";":
            statements.append(content[start:offset].decode("utf-8"))
            start = offset + 1
    return statements, content[start:].decode("utf-8")


def is_blank(text: str) -> bool:
    """Return whether a text is nothing but space and whole comments; a comment that is still open is not blank."""
    content = utf8(text) + b"\n;"
    return [offset for offset, kind in _tokens(content) if kind != "comment"] == [len(content) - 1]


def utf8(text: str) -> bytes:
    """Return the text's bytes, in which the tokenizer counts.

    Raises:
        AuditError: the text came from bytes that were not UTF-8.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AuditError(f"audit sql: the statement is not UTF-8 text ({error.reason})") from error


def _tokens(content: bytes) -> list[tuple[int, str]]:
    import duckdb

    return [(offset, kind.name) for offset, kind in duckdb.tokenize(content.decode("utf-8"))]
