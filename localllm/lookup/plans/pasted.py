"""A pasted error: the places of the project it names, and where its message comes from."""

import re

from localllm.lookup.answers import place, shorten
from localllm.lookup.calls import Plan, names, read
from localllm.lookup.conversation import Talk
from localllm.lookup.places import is_secret
from localllm.lookup.plans.message import message
from localllm.lookup.questions import Question
from localllm.lookup.results import read_lines, read_listing
from localllm.lookup.wording import say

_FRAME = re.compile(
    r"""File\ "(?P<python>[^"\n]+)",\ line\ (?P<at>\d+)
    | (?P<other>(?:[\w.@+-]*/)*[\w@+-][\w.@+-]*
        \.(?:[cm]?[jt]sx?|py|go|rs|rb|java|php|cs|c|cc|cpp|h|hpp|kt|swift)):(?P<line>\d+)""",
    re.VERBOSE,
)
_MESSAGE = re.compile(r"^(?:[\w.]+(?:Error|Exception|Warning)|panic|fatal|ERROR|Error)\s*:\s*(.+)$", re.MULTILINE)
_MOST = 6


def frames_in(text: str) -> list[tuple[str, int]]:
    """The files and lines that an error names, the innermost last, each once."""
    found = [(m["python"] or m["other"], int(m["at"] or m["line"])) for m in _FRAME.finditer(text)]
    return list(dict.fromkeys(found))


def pasted_error(talk: Talk, text: str) -> Plan:
    """The frames that are in the project, the last first, and the line its message comes from."""
    frames = frames_in(text)[-_MOST * 2 :]
    files = {path.replace("\\", "/").rsplit("/", 1)[-1] for path, _ in frames}
    (listed,) = yield (names(pattern="{" + ",".join(sorted(files)) + ",}"),)
    here = read_listing(listed.text).files
    known = [(own, line) for path, line in reversed(frames) if (own := _own(path, here))][:_MOST]
    results = yield tuple(read(path, max(1, line), 1) for path, line in known)
    lines = [
        f"- {place(path, line)}" + ("" if is_secret(path) else f" — `{shorten(_at(path, line, result.text))}`")
        for (path, line), result in zip(known, results, strict=True)
        if not result.error
    ]
    said = [say(talk.japanese, "frames"), *lines] if lines else []
    if told := _MESSAGE.search(text):
        origin = yield from message(talk, Question("message", told[1].strip()[:300]))
        said += ["", origin] if said else [origin]
    return "\n".join(said) or say(talk.japanese, "no_frames")


def _own(path: str, here: tuple[str, ...]) -> str:
    """The file of the project that `path`, perhaps of another machine, is: the one that shares most of its end."""
    parts = path.replace("\\", "/").split("/")
    ending = [own for own in here if own.split("/")[-1] == parts[-1]]
    shared = {own: _shared(own.split("/"), parts) for own in ending}
    return max(shared, key=lambda own: shared[own], default="")


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _at(path: str, line: int, text: str) -> str:
    return read_lines(path, text, line).get(line, "").strip()
