"""The words of a server or a library, made fit to stand in an error."""

_LONGEST = 400


def short_reason(text: str) -> str:
    """`text` on one line, of bounded length, without a final stop."""
    return " ".join(text.split())[:_LONGEST].rstrip(". ")
