"""Find what a command has put into its own /tmp or home, where nobody finds it afterwards."""

import os
import posixpath
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from localllm.base.i18n import Phrase
from localllm.base.lazy_patterns import late_pattern
from localllm.safety.command_line import Line
from localllm.safety.dangerous_commands import begins_at
from localllm.safety.departures import moved
from localllm.safety.path_names import shown, some_of
from localllm.safety.rules import line_of
from localllm.safety.shell_words import Word

if TYPE_CHECKING:
    from localllm.sandbox.runner import CommandResult

_OWN_HOME = late_pattern(r"~(?:/|$)|\$\{?HOME\b")
_TEMPORARY = late_pattern(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)|\$\{?(?:TMPDIR|TMP|TEMP)\b")
_STOPS = late_pattern(r"&&|\|\| *exit\b|\bset -\w*e")
"""Matches what ends a line at a failure, so that the rest may not have run."""
_COPYING = ("cp", "install", "rsync")
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "eval"})
_LOOKS = frozenset(
    {"mkdir", "ls", "stat", "test", "[", "[[", "echo", "printf", "du", "file", "wc", "chmod", "touch", "realpath"}
)
"""Programs that make no other use of a file than to see or say that it is there."""

_USER_SETTINGS = "~/.gitconfig"
_READ_ONLY_CONFIG = ("--get", "--get-all", "--get-regexp", "--list", "-l", "--edit", "-e", "get", "list")
_MOST_TARGETS = 100  # of a line that are looked for in it
_WORDS_OF_A_SETTING = 2  # its name and its value


def put_away(command: str, folder: str, root: Path, result: "CommandResult") -> Iterator[Phrase]:
    """Yield that what a command copied or saved to its /tmp or home is gone, if it made no other use of it. A
    redirection into /tmp is left out: it is how output is kept from the screen."""
    from localllm.sandbox.backend import BACKENDS

    if result.level not in BACKENDS or result.timed_out or (result.return_code and _STOPS.search(command)):
        return
    line = line_of(command)
    place = posixpath.join(root, folder)
    targets = [*_targets(line), *(word.text for word in line.script.writes if _OWN_HOME.match(word.text))]
    own = dict.fromkeys(one for one in targets if one not in result.stderr and _is_own(one, place, str(root)))
    used = _used(line) if own else []
    if gone := [target for target in islice(own, _MOST_TARGETS) if not _is_used(line, target, used)]:
        yield Phrase(
            "What was put into {paths} is gone: /tmp and ~ of a command are thrown away when it ends.",
            paths=some_of(list(map(shown, gone))),
        )


def _targets(line: Line) -> Iterator[str]:
    """Yield where the commands of a line put copies, archives and settings, as written."""
    for words in line.commands:
        yield from (target.text for target in _written(words))


def _written(words: Sequence[Word]) -> list[Word]:
    """Return the words of a simple command that say where it writes."""
    for program in _COPYING:
        if (at := begins_at(words, program)) >= 0:
            target = moved(words[at + 1 :])[1]
            return [target] if target else []
    if (at := begins_at(words, "tee")) >= 0:
        return [word for word in words[at + 1 :] if word.text[:1] != "-"]
    if (at := begins_at(words, "zip")) >= 0:
        return [word for word in words[at + 1 :] if word.text[:1] != "-"][:1]
    if (at := begins_at(words, "tar")) >= 0:
        return _archive(words[at + 1 :])
    if (at := begins_at(words, "git")) >= 0 and _sets_globally([word.text for word in words[at + 1 :]]):
        return [Word(_USER_SETTINGS)]
    return []


def _archive(words: Sequence[Word]) -> list[Word]:
    """Return the file that `tar` with these words creates."""
    if not words or not ("c" in words[0].text.partition("=")[0] or "--create" in [word.text for word in words]):
        return []
    for at, word in enumerate(words):
        name, _, value = word.text.partition("=")
        if name == "--file" and value:
            return [Word(value, computed=word.computed)]
        is_cluster = name[:2] != "--" and (at == 0 or name[:1] == "-")
        if (name == "--file" or (is_cluster and name.endswith("f"))) and at + 1 < len(words):
            return [words[at + 1]]
    return []


def _sets_globally(words: Sequence[str]) -> bool:
    """Return whether `git` with these words writes the user's own settings."""
    if "config" not in words or "--global" not in words or any(word in words for word in _READ_ONLY_CONFIG):
        return False
    named = [word for word in words[words.index("config") + 1 :] if word[:1] != "-"]
    return len(named) >= _WORDS_OF_A_SETTING


def _is_own(target: str, place: str, root: str) -> bool:
    """Return whether it is in what the command has for itself: outside of the project, in /tmp or the home."""
    if _OWN_HOME.match(target):
        path = os.path.normpath(os.path.expanduser(target))  # noqa: PTH111 - strings
    elif _TEMPORARY.match(path := os.path.normpath(posixpath.join(place, target))) or _TEMPORARY.match(target):
        path = target if target[:1] == "$" else path
    elif path.startswith(f"{os.path.expanduser('~')}/"):  # noqa: PTH111 - strings
        pass
    else:
        return False
    return path != root and not path.startswith(f"{root}/")


def _used(line: Line) -> list[str]:
    """Return the words by which the commands of a line may make use of files."""
    used = [word.text for word in line.script.reads]
    for words in line.commands:
        texts = [word.text for word in words]
        if texts and texts[0].rpartition("/")[2] not in _LOOKS:
            written = {word.text for word in _written(words)}
            is_shell = texts[0] in _SHELLS or texts[0][:1] == "-"
            used += (text for text in texts[1:] if text not in written and not (is_shell and " " in text))
    return used


def _is_used(line: Line, target: str, used: Sequence[str]) -> bool:
    """Return whether a command of the line does something with what was put there, or a here-document names that."""
    if target == _USER_SETTINGS:
        return any(begins_at(words, "git") >= 0 and not _written(words) for words in line.commands)
    path = target.rstrip("/") or target
    is_in_program = path in line.text.partition("<<")[2].partition("\n")[2]
    return is_in_program or any(
        path in text or (text[:1] in "/~$" and path.startswith(f"{text.rstrip('/*')}/")) for text in used if text
    )
