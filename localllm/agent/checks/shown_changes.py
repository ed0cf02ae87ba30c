"""Find code in an answer that stands otherwise in a file of the project: a change that is only shown."""

import re
from collections.abc import Callable, Iterator

from localllm.agent.checks.answer_calls import split_blocks
from localllm.agent.checks.run_facts import is_code
from localllm.agent.phrases import request_phrases
from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern

_BEGINS = (
    r"^(?:[ \t]*(?:(?:export|default|async|pub|static|public|private) )*"
    r"(?:def|class|function|func|fn|interface|struct|impl|module|trait|enum|sub)[ \t]+(?:\([^()\n]{0,80}\) ?)?"
    r"|(?:export )?const )"
)
_DEFINITION = late_pattern(rf"{_BEGINS}(?P<name>[A-Za-z_]\w*)", re.MULTILINE)
_POLITE = late_pattern(
    r"^(?:can|could|would|will) you (?:please )?|(?:でき|もらえ|くれ|いただけ|頂け)ます(?:でしょう)?か[?？。]?$",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches what makes an order a question in form only."""
_FOR_EYES = late_pattern(
    r"どう|どのよう|なぜ|何[がをはで]|見せ|表示|出力|出すだけ|出して|書(?:か|き込ま)(?:ない|ず)|保存し(?:ない|ず)|案"
    r"|\b(?:show|preview|display|print|paste|draft|sketch|what do you think)\b"
    r"|\b(?:do not|don't|without) (?:writ|sav|apply)",
    re.IGNORECASE,
)
"""Matches what asks how, or for code that is to be seen."""
_MOST_FILES = 500
_MOST_BYTES = 20_000_000
_LARGEST = 1_000_000  # bytes
_MOST_NAMES = 20


def may_be_ordered(request: str) -> bool:
    """Return whether a request is an order for a change, or may be one in words that are not known, and no question."""
    polite = _POLITE.sub("", request)
    said = polite.rstrip("?？ \n") if polite != request else request
    is_order = request_phrases.asks_for_change(request) or request_phrases.may_order_change(said)
    return is_order and not _FOR_EYES.search(said)


def shown_change(answer: str, listing: ProjectListing, read: Callable[[str], str | None]) -> str:
    """Return the file of the project with a definition that the answer shows otherwise; "" if there is none. `read`
    returns the text of a file, None if it may not be read."""
    blocks, _rest = split_blocks(answer) or ([], "")
    shown = [(block.body, [*_names(block.body)]) for block in blocks if not block.is_shell]
    shown = [(body, names) for body, names in shown if names]
    if not shown:
        return ""
    for path in _code_files(listing):
        text = read(path) or ""
        if not any(name in text for _body, names in shown for name in names):
            continue
        defined = {found["name"] for found in _DEFINITION.finditer(text)}
        lines = {line.strip() for line in text.splitlines()}
        for body, names in shown:
            is_there = any(name in defined for name in names)
            if is_there and any(line.strip() not in lines for line in body.splitlines() if line.strip()):
                return path
    return ""


def _names(code: str) -> Iterator[str]:
    yield from [found["name"] for found in _DEFINITION.finditer(code)][:_MOST_NAMES]


def _code_files(listing: ProjectListing) -> Iterator[str]:
    left, count = _MOST_BYTES, 0
    try:
        entries = listing.entries
    except OSError:
        return
    for entry in entries:
        if entry.is_dir or entry.is_link or entry.size > _LARGEST or not is_code(entry.path):
            continue
        left, count = left - entry.size, count + 1
        if left < 0 or count > _MOST_FILES:
            return
        yield entry.path
