"""What a conversation was told of the project's notes: at its beginning, and when the person noted something since."""

import re
from collections.abc import Iterable

import msgspec

from localllm.base.i18n.messages import MESSAGES
from localllm.llm.messages import framed_in
from localllm.lookup.results import message_fields

_SECTIONS = ("todos", "decisions", "preferences", "session")
_FRAME = re.compile(
    r"<project-notes>\nKept in (?P<file>.+?) from earlier work[^\n]*\n(?P<text>.*?)\n</project-notes>", re.DOTALL
)
_NOTED = re.compile(r"^\[.*\]$", re.MULTILINE)


class Notes(msgspec.Struct, frozen=True):
    """The `file` they are kept in ("" where nothing was told) and the lines of each section: todos, decisions,
    preferences, session. `left_out`: how many more a section has."""

    file: str = ""
    lines: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, int] = {}


def read_notes(said: Iterable[str]) -> Notes:
    """The notes told in these messages of the user's, in their order; the last account of them counts."""
    found = Notes()
    for text in said:
        if "<project-notes>" in text and (told := _FRAME.search(framed_in(text))):
            found = _read(told["file"], told["text"])
        if "\n[" in f"\n{text}":
            for line in _NOTED.findall(text):
                found = _with(found, line)
    return found


def _read(file: str, text: str) -> Notes:
    headings = {form: name for name in _SECTIONS for form in MESSAGES[f"memory.digest_{name}"]}
    lines: dict[str, list[str]] = {}
    left_out: dict[str, int] = {}
    section = ""
    for line in text.split("\n"):
        if line in headings:
            section = headings[line]
        elif more := message_fields("memory.digest_more", line) or message_fields("memory.digest_more_found", line):
            left_out[section] = int(more["count"])
        else:
            lines.setdefault(section, []).append(line)
    return Notes(file, {name: tuple(found) for name, found in lines.items()}, left_out)


def _with(notes: Notes, line: str) -> Notes:
    """The notes after what a line says that the person has noted, or taken back."""
    for section, kind in (("decisions", "decision"), ("preferences", "preference")):
        if noted := message_fields(f"memory.told_{kind}", line):
            added = (f"- {noted['text']}", *notes.lines.get(section, ()))
            return msgspec.structs.replace(notes, lines=notes.lines | {section: added})
    if gone := message_fields("memory.told_forgotten", line):
        left = {
            name: tuple(one for one in some if not one.endswith(gone["text"])) for name, some in notes.lines.items()
        }
        return msgspec.structs.replace(notes, lines=left)
    return notes
