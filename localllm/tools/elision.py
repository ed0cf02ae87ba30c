"""Find a passage of which old_string has only parts, with a line such as "..." for the omitted lines."""

from collections.abc import Sequence
from itertools import pairwise

from localllm.base.errors import ToolExecutionError
from localllm.safety.code_loss import elides
from localllm.safety.path_names import shown
from localllm.text.matching import MOST_PLACES, Match, Span, TooManyPlacesError, find
from localllm.text.merging import indent_unit, merge

_MOST_PARTS = 8  # searching for each takes time


def find_elided(text: str, old: str, new: str) -> Match | None:
    """Find the passage from the first part of `old` to its last, where each part occurs once, in order.

    What `old` omits is replaced too, or kept if `new` omits as many passages. None if `old` omits nothing, or the place
    is ambiguous.
    """
    parts, others = _parts(old), _parts(new)
    if not 1 < len(parts) <= _MOST_PARTS:
        return None
    for end in (0, -1):  # what both omit at the ends stays unchanged
        if len(parts) > 1 and len(others) > 1 and not parts[end].strip() and not others[end].strip():
            del parts[end], others[end]
    is_put_back = len(others) == len(parts)
    if not all(part.strip() for part in parts) or (len(others) > 1 and not all(part.strip() for part in others)):
        return None
    if not is_put_back and len(others) > 1:
        return None
    spans = _spans(text, parts, others if is_put_back else parts)
    if not spans:
        return None
    start, end = spans[0].start, spans[-1].end
    gaps = [text[before.end : after.start] for before, after in pairwise(spans)]
    if is_put_back:
        put = _joined([span.text for span in spans], gaps)
    elif text[start:end] == (quoted := _joined(parts, gaps)):
        put = new + "\n" if old.endswith("\n") and new and not new.endswith("\n") else new
    else:
        put = merge(text[start:end], quoted, new, unit=indent_unit(text))
    return None if put is None else Match("elided", (Span(start, end, put),))


def refusal(path: str, text: str, old: str) -> ToolExecutionError | None:
    """Return the error for an elided passage that was not accepted; None if it omits nothing."""
    line = next((line.strip() for line in old.split("\n") if elides(line)), "")
    if not line or any(there.strip() == line for there in text.split("\n")):
        return None
    places = "; ".join(_place(text, part) for part in _parts(old)[:_MOST_PARTS] if part.strip())
    return ToolExecutionError("edit_elided", path=shown(path), line=line, places=places)


def _parts(passage: str) -> list[str]:
    """Split a passage at its elision lines."""
    parts, after_gap = [""], False
    for line in passage.splitlines(keepends=True):
        if not elides(line.rstrip("\n")):
            parts[-1] += line
            after_gap = False
        elif not after_gap:
            parts.append("")
            after_gap = True
    return parts


def _spans(text: str, parts: Sequence[str], puts: Sequence[str]) -> list[Span]:
    """Return the unique place and replacement of each part, in order; empty if one is ambiguous."""
    found: list[Span] = []
    for part, put in zip(parts, puts, strict=True):
        places = _places(text, part, put)
        if len(places) != 1:
            return []
        (span,) = places
        line_start = text.rfind("\n", 0, span.start) + 1
        if found and (span.start < found[-1].end or text[line_start : span.start].strip()):
            return []
        found.append(span)
    return found


def _places(text: str, part: str, put: str) -> Sequence[Span]:
    try:
        match = find(text, part, put, apart=True)  # without tolerance for typos
    except TooManyPlacesError:
        return (Span(0, 0, ""),) * MOST_PLACES
    return match.spans if match else ()


def _joined(parts: Sequence[str], gaps: Sequence[str]) -> str:
    return "".join(piece for part, gap in zip(parts, [*gaps, ""], strict=True) for piece in (part, gap))


def _place(text: str, part: str) -> str:
    """Describe where a part occurs, for the model."""
    first = f"“{next(iter(part.strip().splitlines()), '').strip()}”"
    match _places(text, part, part):
        case ():
            return f"{first} is not there"
        case (span,):
            return f"{first} is at line {text.count(chr(10), 0, span.start) + 1}"
        case several:
            return f"{first} is there {len(several)} times"
