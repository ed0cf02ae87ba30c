"""Where a Python text is indented as no Python text can be, which its grammar lets pass."""

import io
import tokenize

_PASSED_OVER = frozenset({tokenize.COMMENT, tokenize.NL})


def misindented(text: str) -> int | None:
    """The first line (from 1) indented more than the one before without a colon, less than any block it could belong
    to, or not at all after a colon; None where there is none. Text that cannot be taken apart otherwise is not judged.
    """
    before, opened = "NEWLINE", ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _PASSED_OVER:
                continue
            if before == "NEWLINE" and (token.type == tokenize.INDENT) != (opened == ":"):
                return token.start[0]
            if token.type == tokenize.NEWLINE:
                before = "NEWLINE"
            else:
                before, opened = "", token.string
    except IndentationError as error:
        return error.lineno
    except (tokenize.TokenError, SyntaxError):
        return None
    return None
