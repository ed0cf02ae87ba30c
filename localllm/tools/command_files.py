"""What the files that a command names tell of its result."""

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.directory_walk import walk
from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.base.regular_files import open_regular, read_regular
from localllm.safety.path_names import shown, some_of
from localllm.safety.rules import line_of
from localllm.text.decoding import NotTextError, decode

if TYPE_CHECKING:
    from localllm.safety.shell_parser import Script
    from localllm.sandbox.runner import CommandResult
    from localllm.tools.merge_state import MergeState
    from localllm.tools.repository_marks import Marks

_GREPS = ("grep", "egrep", "fgrep")
_RECURSIVE = late_pattern(r"-[a-qs-zA-QS-Z]*+[rR][a-zA-Z]*+|--(?:dereference-)?recursive")
_SEARCHERS = frozenset({*_GREPS, "rg", "ag", "awk", "gawk", "mawk", "sed"})
_CONVERTERS = frozenset({"iconv", "nkf", "recode", "uconv"})
_MOST_FILES = 20
_LARGEST = 2_000_000  # bytes
_MOST_BYTES = 20_000_000  # in the folders that a command searches
_MOST_LISTED = 5_000
_TMP = "/tmp/"  # noqa: S108 - the command's own, in the sandbox
_IS_MISSING = late_pattern(r"(?i)no such file|not found|cannot (?:find|open|access)|can't (?:find|open)|could not find")
_OUTPUT = frozenset({"-o", "-d", "-s", "-h", "-t", "-C", "--output", "--outdir", "--outDir", "--out-dir", "--basetemp"})
"""Options before a file or folder that a program makes itself."""
_NO_PATH = (OSError, ValueError, RuntimeError)  # too long a name, a NUL, a loop of links


def not_executable(denied: re.Pattern[str], cwd: Path, root: Path, result: "CommandResult") -> str:
    """Return the script of the project that could not be run because nobody may execute it; "" if there is none. The
    pattern matches the message."""
    for path in denied.findall(_output(result)):
        with suppress(*_NO_PATH):
            file = (cwd / path).resolve()
            if file.is_relative_to(root) and file.is_file() and not file.stat().st_mode & 0o111:
                with open_regular(file) as script:
                    return path if script.read(2) == b"#!" else ""
    return ""


_MISSED = late_pattern(
    r"(?:['‘\"](?P<quoted>[^'’\"\n]{1,400})['’\"]|(?<=: )(?P<plain>[^:'\"\n]{1,400}))"
    r": (?:No such file or directory|そのようなファイルやディレクトリはありません)"
    r"|No such file or directory: ['\"](?P<behind>[^'\"\n]{1,400})['\"]"
)
"""Matches a file that a program did not find, in its message."""


def missing_files(command: str, cwd: Path, root: Path, result: "CommandResult") -> Iterator[str]:
    """Yield where the files are that a command did not find: gone with an earlier command, or named in other forms of
    the same characters."""
    yield from gone_from_tmp(command, result)
    for found in islice(_MISSED.finditer(_output(result)), _MOST_FILES) if result.return_code else ():
        with suppress(*_NO_PATH):
            path = (cwd / (found["quoted"] or found["plain"] or found["behind"]).strip()).resolve()
            if path.is_relative_to(root) and not path.exists() and (there := _in_other_form(path)):
                yield f"[There is {shown(str(there.relative_to(root)))}: take the name from here.]"
                return


def _in_other_form(path: Path) -> Path | None:
    """Return the only file beside a missing one whose name differs by width, blanks, case or composition alone."""
    wanted = _plain_name(path.name)
    alike = [one for one in islice(path.parent.iterdir(), _MOST_LISTED) if _plain_name(one.name) == wanted]
    return alike[0] if len(alike) == 1 else None


def _plain_name(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def gone_from_tmp(command: str, result: "CommandResult") -> Iterator[str]:
    """Yield that a command which missed something may have looked for what an earlier one had put into /tmp: for a path
    there that it names once, and does not make."""
    from localllm.sandbox.backend import BACKENDS

    is_own = result.level in BACKENDS and BACKENDS[result.level].has_namespaces
    if not is_own or _TMP not in command or not result.return_code or not _IS_MISSING.search(_output(result)):
        return
    script = line_of(command).script
    named: list[str] = [part for word in (*script.reads, *script.writes) for part in word.text.split(":")]
    made = {word.text for word in script.writes}
    for one in script.commands:
        for before, word in zip(("", *(word.text for word in one.words)), one.words, strict=False):
            named += word.text.split(":")
            made |= {word.text} if before in _OUTPUT else set()
    tops = {_TMP + path[len(_TMP) :].partition("/")[0] for path in named if path.startswith(_TMP) and path not in made}
    if missed := sorted(top for top in tops if command.count(top) == 1):
        yield f"[/tmp is new for each command: {some_of(missed)} of an earlier one is gone. Write into the project.]"


def remarks_for_user(
    root: Path,
    command: str,
    folder: str,
    result: "CommandResult",
    merge: "MergeState | None",
    marks: "Marks",
) -> list[Phrase]:
    """Return remarks for model and user on what else the command has done: in the repository, and to what it moved or
    copied."""
    from localllm.tools.commit_remarks import remarks_on_commit
    from localllm.tools.repository_marks import remarks_on_marks
    from localllm.tools.thrown_away import put_away

    of_commit = remarks_on_commit(root, merge) if result.level != "none" else []
    away = [*moved_away(command, folder, root, result), *put_away(command, folder, root, result)]
    return [*of_commit, *remarks_on_marks(root, marks), *away]


def moved_away(command: str, folder: str, root: Path, result: "CommandResult") -> Iterator[Phrase]:
    """Yield that what a command moved out of the project is gone. What is still there was not moved, and what the same
    command takes from where it was moved to is not lost."""
    from localllm.sandbox.backend import BACKENDS

    if result.level not in BACKENDS or result.return_code or "mv" not in command:
        return
    from localllm.safety.departures import departures, taken

    line = line_of(command)
    places = [root / folder / one for one in ("", *line.folders)]
    back = taken(line)

    def is_lost(path: str, target: str) -> bool:
        into = target.rstrip("/")
        is_taken = not back.isdisjoint({target, into, f"{into}/*", f"{into}/{path.rstrip('/').rpartition('/')[2]}"})
        return not is_taken and not any(_is_there(place / path) for place in places)

    moved: dict[str, dict[str, None]] = {}
    for one in departures(line, folder, str(root)):
        if one.target:
            lost = (path for path in one.sources if is_lost(path, one.target))
            moved.setdefault(one.target, {}).update(dict.fromkeys(lost))
    for target, sources in moved.items():
        if sources:
            yield Phrase(
                "What was moved to {target} is gone ({paths}): /tmp and ~ of a command are thrown away when it ends. "
                "/undo brings back what was kept of it.",
                target=shown(target),
                paths=some_of(list(sources)),
            )


def _output(result: "CommandResult") -> str:
    return f"{result.stderr}\n{result.stdout}"


def other_encoding(command: str, cwd: Path, root: Path, result: "CommandResult") -> Iterator[str]:
    """Yield that a command that looked for other letters than ASCII, and found nothing, compared them with those of a
    file that is not in UTF-8."""
    if command.isascii() or result.return_code not in (0, 1) or not _is_nothing(result.stdout):
        return
    script = line_of(command).script
    searches = (one.words[1:] for one in script.commands if one.words and one.words[0].text in _SEARCHERS)
    sought = [word.text for words in searches for word in words if not word.text.isascii()]
    is_converted = any(one.words and one.words[0].text in _CONVERTERS for one in script.commands)
    if is_converted or all(_is_there(cwd / text) for text in sought):
        return
    words = [word.text for one in script.commands for word in one.words[1:]] + [word.text for word in script.reads]
    named = islice((path for word in words for path in _files(word, cwd)), _MOST_FILES)
    for path in chain(named, _searched_below(script, cwd)):
        if encoding := _other_encoding(cwd / path, root):
            name = shown(path)
            yield (
                f"[{name} is in {encoding}, and the command looked for UTF-8: use search_files, or "
                f"iconv -f {encoding} -t utf-8 {name} | …]"
            )
            return


def _is_nothing(output: str) -> bool:
    """Return whether no line was found: at most the count 0 is printed, perhaps for each file."""
    return all(line.strip().rpartition(":")[2] in ("", "0") for line in output.splitlines())


def _is_there(path: Path) -> bool:
    """Return whether there is such a file; a word that is too long for a name has none."""
    try:
        return path.exists()
    except _NO_PATH:
        return False


def _files(word: str, cwd: Path) -> Iterator[str]:
    if not any(sign in word for sign in "*?[") or word[:1] == "/" or "**" in word:
        yield word
        return
    with suppress(*_NO_PATH):  # no pattern, or too deep a path
        yield from (path.relative_to(cwd).as_posix() for path in islice(cwd.glob(word), _MOST_FILES))


def _searched_below(script: "Script", cwd: Path) -> Iterator[str]:
    """Yield the files in the folders that a command searches, some megabytes of them."""
    for one in script.commands:
        name, *texts = [word.text for word in one.words] or [""]
        if name not in ("rg", "ag") and not (name in _GREPS and any(map(_RECURSIVE.fullmatch, texts))):
            continue
        places = [text for text in texts if _is_there(cwd / text)]
        room = _MOST_BYTES
        for place in places or (["."] if len(script.commands) == 1 else []):  # otherwise perhaps its input
            with suppress(*_NO_PATH):
                for entry in islice(walk(cwd / place, exclude=()), _MOST_LISTED):
                    if not entry.is_dir and (room := room - entry.size) > 0:
                        yield posixpath.normpath(f"{place}/{entry.path}")


def _other_encoding(path: Path, root: Path) -> str:
    """Return the encoding of a text of the project; "" if it is UTF-8, or no text."""
    try:
        if not path.resolve().is_relative_to(root):
            return ""
        data = read_regular(path, _LARGEST)
        encoding = "" if data.isascii() and b"\x1b" not in data else decode(data).encoding
    except (*_NO_PATH, NotTextError):
        return ""
    return "" if encoding.startswith("utf-8") else encoding
