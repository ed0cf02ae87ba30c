"""The data type of an error's text."""

from typing import NamedTuple


class ErrorText(NamedTuple):
    """An error's public code and English text; `why` and `fix` may be empty."""

    code: str
    what: str
    why: str = ""
    fix: str = ""
