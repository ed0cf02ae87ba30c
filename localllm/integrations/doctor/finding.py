"""What a check has found."""

from typing import Literal

import msgspec

from localllm.base.errors import LocalLLMError

Status = Literal["problem", "warning", "note", "ok"]
"""problem: something will not work. warning: it works, less well. note: good to know. ok: as it should be."""

STATUSES: tuple[Status, ...] = ("problem", "warning", "note", "ok")
"""The most important first."""


class Finding(msgspec.Struct, frozen=True):
    """`what` was found and, where there is something to do, the `mend`; both in the user's language. `name` is what it
    is about, the same in every language."""

    name: str
    status: Status
    what: str
    mend: str = ""


def ok(name: str, what: str) -> Finding:
    """As it should be."""
    return Finding(name, "ok", what)


def note(name: str, what: str, mend: str = "") -> Finding:
    """Good to know."""
    return Finding(name, "note", what, mend)


def warning(name: str, what: str, mend: str) -> Finding:
    """It works, less well."""
    return Finding(name, "warning", what, mend)


def problem(name: str, what: str, mend: str) -> Finding:
    """Something will not work."""
    return Finding(name, "problem", what, mend)


def of_error(name: str, error: LocalLLMError, status: Status = "problem") -> Finding:
    """What an error says; where it knows no mend, its reason must do."""
    what = " ".join(f"{error.what} {error.why}".split())
    return Finding(name, status, what, error.mend or error.why or error.what)
