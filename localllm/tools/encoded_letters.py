"""Name in a question the letters of a change that are stored as bytes which other programs read as code."""

import re

from localllm.base.i18n import _

_CODE = frozenset(b"`$;|&<>()\"'\\\n")
_SWITCH = re.compile(rb"\x1b[$(]+[@-Z]")
"""A change of the character set in ISO-2022."""
_MOST_NAMED = 8


def with_letters_named(summary: str, before: str, after: str, encoding: str) -> str:
    """Return the summary of a change with the letters of its new lines that programs which know nothing of the file's
    encoding may take for code: in Shift_JIS the second byte of ～ is a backquote to a shell."""
    if encoding.startswith("utf"):
        return summary
    known = set(before.split("\n"))
    new = (line for line in after.split("\n") if line not in known and not line.isascii())
    letters = [letter for letter in dict.fromkeys("".join(new)) if not letter.isascii()]
    named = [letter for letter in letters if not _CODE.isdisjoint(_SWITCH.sub(b"", _bytes_of(letter, encoding)))]
    if not named:
        return summary
    return _(
        "{summary} (the file is in {encoding}: there a shell reads a part of {letters} as code)",
        summary=summary,
        encoding=encoding,
        letters="".join(named[:_MOST_NAMED]) + ("…" if named[_MOST_NAMED:] else ""),
    )


def _bytes_of(letter: str, encoding: str) -> bytes:
    return letter.encode(encoding, "ignore")
