"""Recognise a pasted traceback or test failure, and find the places of the project that it names."""

import re
from collections.abc import Sequence

from localllm.lookup.answers import message, numbered
from localllm.lookup.conversation import Talk
from localllm.lookup.index import ProjectIndex

_LISTED = 8
_FRAME = re.compile(
    r"File \"(?P<python>[^\"\n]+)\", line (?P<at>\d+)|(?P<other>(?:[\w.@+-]*/)*[\w@+-][\w.@+-]*\.\w{1,5}):(?P<line>\d+)"
)
_ERROR = re.compile(r"^(?:E\s+)?(?:[\w.]+(?:Error|Exception|Warning)|panic|fatal|(?i:error))\s*:\s*(.+)$", re.MULTILINE)
_RAISED = re.compile(r":\d+: (?:in \S+|[\w.]*(?:Error|Exception|Failed))[ \t]*\r?$", re.MULTILINE)
"""What stands behind a place in the output of pytest."""


def pasted_error(talk: Talk, index: ProjectIndex, text: str) -> str:
    """The places of the project that an error names, the last first, and the line its message comes from."""
    paths = index.paths()
    frames = dict.fromkeys((m["python"] or m["other"], int(m["at"] or m["line"])) for m in _FRAME.finditer(text))
    known = dict.fromkeys((own, line) for path, line in reversed(frames) if (own := _own(path, paths)))
    hits = [(path, at, index.lines(path)[at - 1]) for path, at in known if 0 < at <= len(index.lines(path))]
    said = [talk.say("frames"), *numbered(hits[:_LISTED]), ""] if hits else []
    if found := _ERROR.search(text):
        said.append(message(talk, index, found[1].strip()[:300]))
    return "\n".join(said).strip() or talk.say("no_frames")


def has_frames(text: str) -> bool:
    """Whether a text is an error that names places: at least two, or one and a message or what was raised there."""
    places = {match[0] for match in _FRAME.finditer(text)}
    return len(places) > 1 or (len(places) == 1 and bool(_ERROR.search(text) or _RAISED.search(text)))


def _own(path: str, paths: Sequence[str]) -> str:
    """The file of the project that `path`, perhaps of another machine, is: the one that shares most of its end."""
    path = path.replace("\\", "/")
    ends = [own for own in paths if f"/{path}".endswith(f"/{own}") or f"/{own}".endswith(f"/{path}")]
    return max(ends, key=len, default="")
