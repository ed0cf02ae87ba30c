"""Find the files that a command deleted without naming them, the text files that it emptied, or took most lines or all
definitions of, and tables whose header it moved or took away (`sort -u`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import N_, Phrase, plural
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.code_loss import replaced_definitions
from localllm.safety.path_names import shown
from localllm.safety.rules import line_of
from localllm.snapshots.change_log import Change
from localllm.snapshots.file_state import ABSENT
from localllm.text.decoding import NotTextError, decode

_FEWEST_LINES = 10
_LEAST_LEFT = 0.5
_MOST_FILES = 50  # that are compared with what they held
_MOST_BYTES = 40_000_000  # of all of these
_LARGEST_PARSED = 50_000  # bytes; a model that writes a file anew by a command writes a small one
_MOST_PARSED = 10
_MOST_NAMES = 4


class Shrunk(msgspec.Struct, frozen=True):
    """A file that has far fewer lines than before a command, none of its definitions (`gone`), or its header in line
    `header`, 0 if nowhere; None if that stands where it was."""

    path: str
    before: int
    after: int
    gone: tuple[str, ...] = ()
    header: int | None = None

    @property
    def remark(self) -> str:
        """What became of it, for the model."""
        if self.header is not None:
            return f"its first line, the header, is now line {self.header}" if self.header else "its header is gone"
        more = ", …" if len(self.gone) > _MOST_NAMES else ""
        names = f"; {', '.join(self.gone[:_MOST_NAMES])}{more} gone" if self.gone else ""
        return f"{self.before} {plural(self.before, 'line', 'lines')} became {self.after}{names}"


def shrunk_files(changes: Sequence[Change], content: Callable[[str], bytes], command: str) -> list[Shrunk]:
    """Return such files, those that lost most first; none if only git has run, which keeps what it replaces. `content`
    returns that of a file's state; OSError if it is not kept."""
    states: dict[str, tuple[str, str]] = {}
    for change in changes:
        states[change.path] = (states.get(change.path, (change.before,))[0], change.after)
    changed = [(path, *pair) for path, pair in states.items() if ABSENT not in pair]
    if not changed or _is_git_alone(command):
        return []
    return sorted(_shrunk(changed, content), key=lambda one: one.after - one.before)


def deleted_files(changes: Sequence[Change]) -> list[str]:
    """Return the files that were there before and are gone after."""
    states: dict[str, tuple[str, str]] = {}
    for change in changes:
        states[change.path] = (states.get(change.path, (change.before,))[0], change.after)
    return [path for path, (before, after) in states.items() if before != ABSENT == after]


def removes_unnamed(deleted: Sequence[str], command: str) -> bool:
    """Return whether a command removed several files that it does not name, such as all of a folder; git keeps what it
    removes."""
    if not _REMOVES.search(command) or _is_git_alone(command):
        return False
    return len([path for path in deleted if path.rpartition("/")[2] not in command]) >= _FEWEST_DELETED


_REMOVES = late_pattern(r"\b(?:rm|find|unlink|shred|rmtree|remove|del)\b")
_FEWEST_DELETED = 2


def _is_git_alone(command: str) -> bool:
    script = line_of(command).script
    names = {one.words[0].text for one in script.commands if one.words}
    return "git" in names and names <= {"git", "cd"} and not script.writes


def _shrunk(changed: Sequence[tuple[str, str, str]], content: Callable[[str], bytes]) -> Iterator[Shrunk]:
    room, parsed = _MOST_BYTES, 0
    for path, before, after in changed[:_MOST_FILES]:
        with suppress(OSError, LocalLLMError, NotTextError):
            old, new = content(before), content(after)
            room -= len(old) + len(new)
            if room < 0:
                return
            gone: tuple[str, ...] = ()
            if new.strip() and len(old) <= _LARGEST_PARSED and parsed < _MOST_PARSED:
                parsed += 1
                gone = replaced_definitions(decode(old).text, decode(new).text, path)
            count, left = _line_count(old), _line_count(new)
            is_emptied = bool(old.strip()) and not new.strip()
            if gone or is_emptied or (count >= _FEWEST_LINES and left < count * _LEAST_LEFT):
                yield Shrunk(path, count, left, gone)
            elif path.lower().endswith(_TABLES) and (header := _place_of_header(old, new)) is not None:
                yield Shrunk(path, count, left, header=header)


_TABLES = (".csv", ".tsv")
_CELLS = late_pattern(r"[,;\t]")
_NUMBER = late_pattern(r"[\W\d]+")


def _place_of_header(old: bytes, new: bytes) -> int | None:
    """Return the line of a table in which its header is now, 0 if there is none; None if it has not been moved or taken
    away, or there was none. One that was changed is none that is gone: the first line is no other of those before."""
    before, after = decode(old).text.splitlines(), decode(new).text.splitlines()
    if len(before) < 2 or not after or after[0] == before[0]:
        return None
    cells = [cell.strip() for cell in _CELLS.split(before[0])]
    if len(cells) < 2 or not all(cell and not _NUMBER.fullmatch(cell) for cell in cells):
        return None
    if len([cell for line in before[1:_LOOKED_AT] for cell in _CELLS.split(line) if _NUMBER.fullmatch(cell)]) == 0:
        return None  # all lines are alike: the first may be none
    if before[0] in after:
        return after.index(before[0]) + 1
    return 0 if after[0] in before[1:] else None


_LOOKED_AT = 20  # lines


def _line_count(data: bytes) -> int:
    """Count the lines of a text; one without NUL is not decoded, as to find the encoding may take a second. Raises
    NotTextError."""
    if b"\0" in data:
        data = decode(data).text.encode()
    ends = max(data.count(b"\n"), data.count(b"\r"))
    return ends + (bool(data) and not data.endswith((b"\n", b"\r")))


def told_of(summary: str | Phrase, found: Sequence[Shrunk]) -> str | Phrase:
    """Return the line of a command's result for the user with what became of these files added."""
    for one in found:
        if one.header is not None:
            moved = N_("{summary}; {path}: its header is now line {line}")
            text = moved if one.header else N_("{summary}; {path}: its header is gone")
            summary = Phrase(text, summary=summary, path=shown(one.path), line=one.header)
            continue
        text = N_("{summary}; {path}: {before} line became {after}", "{summary}; {path}: {before} lines became {after}")
        summary = Phrase(
            text, summary=summary, path=shown(one.path), before=one.before, after=one.after, count=one.before
        )
    return summary
