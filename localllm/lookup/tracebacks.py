"""Recognise a pasted traceback or test failure, and locate its frames in the project."""

import re
from collections.abc import Sequence

from localllm.lookup.answers import message, numbered
from localllm.lookup.conversation import Talk
from localllm.lookup.index import ProjectIndex

_LISTED = 8
_FRAME = re.compile(
    r"File \"(?P<python>[^\"\n]+)\", line (?P<at>\d{1,9})"
    r"|(?<![\w.@+/-])\.{0,9}?(?P<other>(?:[\w.@+-]*/)*(?:(?<!\.)\.)?[\w@+-][\w.@+-]*\.\w{1,5}):(?P<line>\d{1,9})"
)
"""No path begins within another one: a long word, such as a file in Base64, would be tried from each character."""

_ERROR = re.compile(r"^(?:E\s+)?(?:[\w.]+(?:Error|Exception|Warning)|panic|fatal|(?i:error))\s*:\s*(.+)$", re.MULTILINE)
_RAISED = re.compile(r":\d+: (?:in \S+|[\w.]*(?:Error|Exception|Failed))[ \t]*\r?$", re.MULTILINE)
"""The text after a position in pytest's output."""


def pasted_error(talk: Talk, index: ProjectIndex, text: str) -> str:
    """List the project's frames of an error, innermost first, and the source line of its message."""
    paths = index.paths()
    frames = dict.fromkeys((m["python"] or m["other"], int(m["at"] or m["line"])) for m in _FRAME.finditer(text))
    known = dict.fromkeys((own, line) for path, line in reversed(frames) if (own := _own(path, paths)))
    hits = [(path, at, index.lines(path)[at - 1]) for path, at in known if 0 < at <= len(index.lines(path))]
    said = [talk.say("frames"), *numbered(hits[:_LISTED]), ""] if hits else []
    if found := _ERROR.search(text):
        said.append(message(talk, index, found[1].strip()[:300]))
    return "\n".join(said).strip() or talk.say("no_frames")


def has_frames(text: str) -> bool:
    """Whether a text is an error with positions: at least two, or one with a message or exception."""
    places = {match[0] for match in _FRAME.finditer(text)}
    return len(places) > 1 or (len(places) == 1 and bool(_ERROR.search(text) or _RAISED.search(text)))


def _own(path: str, paths: Sequence[str]) -> str:
    """Map `path`, perhaps from another machine, to the project's file with the longest common suffix."""
    path = path.replace("\\", "/")
    ends = [own for own in paths if f"/{path}".endswith(f"/{own}") or f"/{own}".endswith(f"/{path}")]
    return max(ends, key=len, default="")
