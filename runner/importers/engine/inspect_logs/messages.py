"""The texts of Inspect's messages: contents are a text or parts of which some are texts."""

from runner.importers.engine.record import Record

_ATTACHMENT = "attachment://"


def text_of(message: Record) -> str:
    """Return a message's text, as `ChatMessage.text` does: the parts that are texts, one a line.

    Raises:
        AuditError: the content is neither a text nor parts.
    """
    if not isinstance(message.values.get("content"), list):
        return message.text("content")
    parts = message.parts("content")
    return "\n".join(part.text("text") for part in parts if part.values.get("type") == "text")


def question_of(sample: Record) -> str | None:
    """Return what a sample asks: its input, of a conversation the messages with their roles.

    Returns:
        The text, None where it is kept elsewhere (an attachment) or there is none.

    Raises:
        AuditError: it is neither a text nor messages.
    """
    if not isinstance(sample.values.get("input"), list):
        found = sample.text_or_none("input")
        return _resolved(found, sample) if found else None
    messages = list(sample.parts("input"))
    if len(messages) == 1:
        return _resolved(text_of(messages[0]), sample)
    return "\n\n".join(f"{message.text('role')}: {text_of(message)}" for message in messages) or None


def _resolved(text: str, sample: Record) -> str | None:
    """Return a text, or that of the attachment that it names."""
    if not text.startswith(_ATTACHMENT):
        return text or None
    return sample.part_or_empty("attachments").text_or_none(text.removeprefix(_ATTACHMENT))
