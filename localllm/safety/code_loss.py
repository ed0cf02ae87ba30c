"""Detect edits that lose code: placeholders in its place, and files that lose most of it."""

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from localllm.base.i18n import N_, Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.code.grammars import language_of
from localllm.code.outline import MAX_BYTES, Definition, NotParsedError, Outline, count_brackets, outline
from localllm.text.conflict_markers import left_markers, lost_side, marker_lines, sides
from localllm.text.data_formats import new_fault
from localllm.text.sanitising import shorten

_LOSSES = {
    "emptied": N_("all {count} line of it", "all {count} lines of it"),
    "placeholder": N_("what “{names}” stands for, which was not written out"),
    "definitions": N_("{names} ({count} line becomes {after})", "{names} ({count} lines become {after})"),
    "bodies": N_("the bodies of {names}"),
    "imports": N_("every import ({names})"),
    "cut": N_("{names}, and it ends in a syntax error"),
    "lines": N_("most of its lines ({before} become {after})"),
}

_SIGN = r"(?:\#+|//+|/\*+|\*+|<!--|--+|;+|%+|\{/\*|\"\"\"|''')"
_DOTS = r"(?:\.{3,}|…+|‥+)"
_WHAT = (
    r"(?:code|file|files?|function|functions|class|classes|method|methods|implementation|content|contents|module|script"
    r"|document|section|sections|body|logic|imports?|tests?|text|lines?|part|parts|fields|cases|config|configuration"
    r"|component|components|items|entries|styles|rules|routes|handlers|properties)"
)
_SAME = r"(?:unchanged|the same|as (?:is|before|above|it was)|omitted|unmodified|untouched|not changed|here|goes here)"
_PHRASE = (
    rf"(?:(?:the )?(?:rest|remainder) (?:of (?:the |your |this |my )?(?:\w+ )?{_WHAT}|(?:is |remains |stays )?{_SAME})"
    r"|(?:your |the |all |keep (?:the |all )?)?(?:existing|remaining|previous|other|original|unchanged)"
    rf" (?:\w+ )?{_WHAT}"
    rf"|same as (?:before|above)|(?:no changes?|unchanged)(?: here| below| above)?|{_WHAT} (?:unchanged|omitted))"
)
_TAIL = rf"(?:[ ,(]*(?:remains?|stays?|is|are|kept|continues?|goes|left)?[ ]*{_SAME}?[ )]*)"
_JAPANESE = (
    r"(?:(?:以下|以降|残り|その他|他|あと)(?:の\S{0,12})?(?:は|も)?(?:すべて)?(?:同じ|同様|省略|変更なし|そのまま|略)"
    r"|(?:既存|残り|元)の(?:コード|処理|内容|実装|部分|関数|メソッド)(?:は|が)?(?:そのまま|変更なし|同じ|続く|ここ(?:に入る)?|省略)?"
    r"|(?:中|後|前|以下)略|変更なし|省略)"
)
_CLOSING = r"(?:\*/\}?|-->|\"\"\"|'''|\))?"

_LINE = (  # compiled on first use: this takes 10 ms, which start-up should not
    rf"\s*(?:"
    rf"{_SIGN}\s*[\[(<]?{_DOTS}?\s*[\[(<]?(?:{_PHRASE}{_TAIL}|{_JAPANESE})[\])>]?\s*{_DOTS}?[。.]?[\])>]?\s*{_CLOSING}"
    rf"|[\[(<{{]?{_DOTS}\s*(?:{_PHRASE}{_TAIL}|{_JAPANESE})\s*{_DOTS}?[。.]?[\])>}}]?"
    rf"|[\[(<（]{_DOTS}?\s*(?:{_PHRASE}{_TAIL}|{_JAPANESE})\s*{_DOTS}?[\])>）]"
    rf")\s*"
)
_ELIDED = rf"\s*(?:{_SIGN}\s*)?{_DOTS}\s*{_CLOSING}\s*|{_LINE}"
_CANDIDATE = late_pattern(r"^[ \t\u3000]*(?:[#/*<\-;%{\"'\[(（]|\.\.|…|‥)[^\n]{2,160}$", re.MULTILINE)
_LONGEST = 2_000_000  # characters; no model writes more


def placeholder(new: str, old: str) -> str:
    """Return a line of `new`, and not of `old`, that only says that text continues; "" if there is none."""
    candidates = (found[0] for found in _CANDIDATE.finditer(new, 0, _LONGEST))
    lines = [line.strip() for line in candidates if re.fullmatch(_LINE, line, re.IGNORECASE)]
    known = {line.strip() for line in old.split("\n")} if lines else set[str]()
    return next((line for line in lines if line not in known), "")


def elides(line: str) -> bool:
    """Return whether the line stands for others: only dots, also as a comment, or words that say so."""
    return len(line) <= _LONGEST_ELISION and re.fullmatch(_ELIDED, line, re.IGNORECASE) is not None


_LONGEST_ELISION = 160  # characters

_PASSED_OVER = frozenset({tokenize.COMMENT, tokenize.NL})


def misindented(text: str) -> int | None:
    """Return the first line (from 1) indented more than the one before without a colon, less than any open
    block, or not at all after a colon; None if there is none. Text with other tokenizing errors is not judged.
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


Loss = Literal["emptied", "placeholder", "definitions", "bodies", "imports", "cut", "lines"]
"""No text is left; a line stands for others; definitions are missing; function bodies are empty; no import
is left; the text ends in the middle; less than half of the lines are left."""

_FEWEST_LINES = 8
_LEAST_LEFT = 0.5
_MOST_DEFINITIONS = 0.25  # share of the definitions that may be removed at once
_LEFT_WITH_FEWER = 0.6  # share of the lines that must remain if even one definition is removed
_LONG_BODY = 3
_LONGEST_EMPTY = 500  # characters of a line without effect
_FEWEST_IMPORTS = 3
_NAMED = 8
_LONGEST_QUOTED = 120
_MOST_TOKENIZED = 500_000  # characters: about 0.15 s
_EMPTY_BODY = late_pattern(
    r"\s*(?:pass|\.\.\.|…|todo\W.*|return|return None|return null|unimplemented!\(\)|todo!\(\)|\{\s*\}"
    r"|raise NotImplementedError.*|throw new \w*(?:Error|Exception)\(.*|panic\(.*)?;?\s*(?:(?:#|//).*)?",
    re.IGNORECASE,
)
_COMMENT = late_pattern(r"\s*(?:#|//|/\*|\*|--|<!--|\"\"\"|''').*")


class CodeLoss(msgspec.Struct, frozen=True):
    """What a change would lose. `missing`: the definitions or imports, or the placeholder line; `before` and `after`:
    numbers of lines."""

    loss: Loss
    missing: tuple[str, ...] = ()
    before: int = 0
    after: int = 0

    @property
    def phrase(self) -> Phrase:
        """Return the loss as a sentence."""
        names = ", ".join(self.missing[:_NAMED]) + (", …" if len(self.missing) > _NAMED else "")
        return Phrase(_LOSSES[self.loss], names=names, before=self.before, after=self.after, count=self.before)


def detect_code_destruction(old: str, new: str, path: str) -> CodeLoss | None:
    """Return what the new version of the file `path` has lost, probably by mistake; None if nothing.

    Judged by the syntax tree if there is a grammar, else by lines. Explicit deletions (edit_file with the text in
    old_string and an empty new_string) need no check; lost white space never counts. Where `new` resolves the conflicts
    of a merge, it must have lost from both sides.
    """
    if (versions := sides(old)) and not marker_lines(new):  # a resolution is shorter than both sides together
        losses = [detect_code_destruction(version, new, path) for version in versions]
        return losses[0] if all(losses) else None
    before, after = _filled(old), _filled(new)
    if not after:
        return CodeLoss("emptied", before=before) if before else None
    if "".join(old.split()) == "".join(new.split()):
        return None
    if line := placeholder(new, old):
        return CodeLoss("placeholder", (line,), before, after)
    was = _outline(old, path)
    has_something = was and (was.definitions or len(was.imports) >= _FEWEST_IMPORTS)
    now = _outline(new, path) if has_something else None
    if was and now and (found := _by_syntax(old, new, was, now)):
        return found
    if before >= _FEWEST_LINES and after < before * _LEAST_LEFT:
        return CodeLoss("lines", (), before, after)
    return None


def replaced_definitions(old: str, new: str, path: str) -> tuple[str, ...]:
    """Return the definitions of a text of which nothing is left in the new one: neither a definition nor a line, as
    after a renaming. Empty if there is no grammar, or something is left."""
    if not _telling_lines(old).isdisjoint(_telling_lines(new)):
        return ()
    was = _outline(old, path)
    now = _outline(new, path) if was and was.definitions else None
    if was is None or now is None:
        return ()
    names = tuple(dict.fromkeys(one.full_name for one in was.definitions))
    return names if {*names}.isdisjoint(one.full_name for one in now.definitions) else ()


def _telling_lines(text: str) -> set[str]:
    """Return the lines of a text but brackets, imports and the package, which a file with other contents has too."""
    lines = (line.strip() for line in text.splitlines())
    return {line for line in lines if line.strip("(){}[];,") and not line.startswith(_OF_ANY_FILE)}


_OF_ANY_FILE = ("import ", "from ", "package ", "use ", "using ", "#include", "#!", '"use strict"')


def left_in_conflict(lines: Sequence[int]) -> str:
    """Return the report of conflict markers at these lines."""
    return f"Conflict markers are left, at line {', '.join(map(str, lines[:_NAMED]))}: resolve these as well."


def new_errors(path: str, old: str, new: str) -> list[str]:
    """Return a report of syntax errors in `new` that `old` lacks, or of conflict markers that are left in it; empty if
    there are none, or no grammar."""
    if left := left_markers(old, new):
        return [left_in_conflict(left)]
    if fault := new_fault(path, old, new) if len(new) <= MAX_BYTES else None:
        told = f"Syntax errors that were not there before, at line {fault.line}: fix them."
        return [f"{told} ({fault.form}: {fault.reason})"]
    if path.endswith(".ipynb"):
        return _errors_in_cells(old, new)
    after = _outline(new, path)
    if after is None or not after.has_errors:
        line = _newly_misindented(path, old, new)
        return [f"Syntax errors that were not there before, at line {line!s}: fix them."] if line else []
    before = _outline(old, path)
    if before is not None and len(before.error_lines) >= len(after.error_lines):
        return []
    where = ", ".join(map(str, after.error_lines))
    return [f"Syntax errors that were not there before, at line {where}: fix them.{_unbalanced(path, old, new)}"]


def lost_side_note(old: str, new: str) -> list[str]:
    """Return a remark for the model on a conflict that was resolved by one side alone; empty if it was not."""
    if not (lost := lost_side(old, new)):
        return []
    first = shorten(lost[0], _LONGEST_QUOTED)
    more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    return [f"[One side of the conflict is gone: {first}{more}. If both were to stay, put together what each changed.]"]


def _errors_in_cells(old: str, new: str) -> list[str]:
    """Return the report for the Python of each cell of a notebook."""
    from localllm.documents.notebook_cells import python_of

    before = dict(python_of(old))
    return [
        f"In cell {number}: {error}"
        for number, source in python_of(new)
        if source != before.get(number, "")
        for error in new_errors("cell.py", before.get(number, ""), source)
    ]


def _unbalanced(path: str, old: str, new: str) -> str:
    """Return which brackets `new` lacks or has too many, compared with `old`, in parentheses; empty if none. A parser
    names the line where it can go on no longer, often below a bracket that is missing."""
    before, after = _brackets(path, old), _brackets(path, new)
    if before is None or after is None:
        return ""
    told: list[str] = []
    for opening, closing in ("{}", "()", "[]"):
        count = after[opening] - after[closing] - before[opening] + before[closing]
        if count:
            told.append(f"{abs(count)} `{closing}` {'missing' if count > 0 else 'too many'}")
    return f" ({', '.join(told)})" if told else ""


def _brackets(path: str, text: str) -> Counter[str] | None:
    data = text.encode("utf-8", "replace")
    language = language_of(path, data)
    try:
        return count_brackets(data, language) if language else None
    except NotParsedError:
        return None


def _newly_misindented(path: str, old: str, new: str) -> int | None:
    """Return the line of Python with an impossible indentation, if `old` has none."""
    if not path.endswith((".py", ".pyi")) or len(new) > _MOST_TOKENIZED:
        return None
    line = misindented(new)
    return line if line and not misindented(old) else None


def _filled(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(not line.isspace() for line in text.splitlines() if line)


def _outline(text: str, path: str) -> Outline | None:
    return _parsed(text, path) if len(text) <= MAX_BYTES else None


@lru_cache(maxsize=4)  # a change is checked when it is shown, when it is allowed, and when it is made
def _parsed(text: str, path: str) -> Outline | None:
    data = text.encode("utf-8", "replace")
    language = language_of(path, data)
    try:
        return outline(data, language) if language else None
    except NotParsedError:
        return None


def _by_syntax(old: str, new: str, was: Outline, now: Outline) -> CodeLoss | None:
    before, after = _filled(old), _filled(new)
    lost = _lost(was.definitions, now.definitions)
    gone = len(was.definitions) - len(now.definitions)
    many = gone > max(1, len(was.definitions) * _MOST_DEFINITIONS)
    if lost and gone > 0 and (many or after < before * _LEFT_WITH_FEWER):
        return CodeLoss("definitions", lost, before, after)
    if hollow := _hollow(old, new, was.definitions, now.definitions):
        return CodeLoss("bodies", hollow, before, after)
    if len(was.imports) >= _FEWEST_IMPORTS and not now.imports and now.definitions:
        return CodeLoss("imports", was.imports, before, after)
    if now.has_errors and not was.has_errors and lost and gone > 0:
        return CodeLoss("cut", lost, before, after)
    return None


def _lost(was: Iterable[Definition], now: Iterable[Definition]) -> tuple[str, ...]:
    names = {definition.full_name for definition in now}
    return tuple(dict.fromkeys(d.full_name for d in was if d.full_name not in names))


def _hollow(old: str, new: str, was: Iterable[Definition], now: Iterable[Definition]) -> tuple[str, ...]:
    """Return the functions whose bodies had an effect and now have none."""
    lines = old.split("\n"), new.split("\n")
    present = {d.full_name: d for d in now if d.kind in ("function", "method")}
    found: list[str] = []
    for definition in was:
        other = present.get(definition.full_name)
        if other is None or definition.kind not in ("function", "method"):
            continue
        if len(_body(lines[0], definition)) >= _LONG_BODY and not _body(lines[1], other):
            found.append(definition.full_name)
    return tuple(dict.fromkeys(found))


def _body(lines: list[str], definition: Definition) -> list[str]:
    """Return the lines after the first that have an effect."""
    part = lines[definition.line : definition.end_line]
    return [line for line in part if line.strip(" \t})];") and not _says_nothing(line)]


def _says_nothing(line: str) -> bool:
    is_comment = _COMMENT.fullmatch(line) is not None
    return is_comment or (len(line) <= _LONGEST_EMPTY and _EMPTY_BODY.fullmatch(line) is not None)
