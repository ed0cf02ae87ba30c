"""How an error's text is written down."""

from typing import NamedTuple


class ErrorText(NamedTuple):
    """An error's public code and its text in English; `why` and `fix` may be empty."""

    code: str
    what: str
    why: str = ""
    fix: str = ""
