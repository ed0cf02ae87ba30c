"""Find the `rm` commands of a line, and each `mv` to a place outside, that remove only recoverable files."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.departures import moved
from localllm.safety.paths import ProjectRoot
from localllm.safety.plain_commands import plain_commands
from localllm.safety.shell_words import Word

_REMOVING_OPTIONS = late_pattern(r"-[rRfvdi]+|--(?:recursive|force|verbose|dir)")
_MOVING_OPTIONS = late_pattern(r"-[fnvT]+|--(?:force|no-clobber|verbose|no-target-directory)")
_WITH_TARGET = late_pattern(r"-t|--target-directory(?:=|$)")
_BESIDE_REMOVING = frozenset({"rm", "mkdir", "echo", "true", "ls", "pwd"})
"""Commands allowed before `rm` in a line whose removals are certain: they give nothing another name."""


def recoverable_removals(
    line: str,
    folder: str,
    root: ProjectRoot,
    would_bring_back: Callable[[ProjectRoot, Iterable[str]], bool],
    leaving: Collection[tuple[str, ...]] = (),
) -> frozenset[tuple[str, ...]]:
    """Return the `rm` commands, and those in `leaving`, by their words, of which `would_bring_back` is true for all
    removed paths.

    `folder`, where `line` runs, and the paths passed on are relative to `root`.
    """
    inside = f"{root.path}/"
    found: list[tuple[str, ...]] = []
    for words, paths in _removed(line, leaving).items():
        relative = [os.path.join(inside, folder, path).removeprefix(inside) for path in paths]  # noqa: PTH118 - strings
        if would_bring_back(root, relative):
            found.append(words)
    return frozenset(found)


def _removed(line: str, leaving: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return the paths, relative to where the line runs, that each `rm` or `mv` in `leaving` of a plain line removes,
    by its words. Empty if that is not certain."""
    commands = plain_commands(line)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    folder = ""
    if commands and commands[0].words[0].text == "cd" and len(commands) > 1 and commands[1].after == "&&":
        texts = commands[0].texts
        if len(texts) != 2 or texts[1][:1] in ("-", "/", "") or commands[0].words[1].glob >= 0:
            return {}
        folder, commands = f"{texts[1]}/", commands[1:]
    removing = [command.texts[0] == "rm" or command.texts in leaving for command in commands]
    last = max((at for at, removes in enumerate(removing) if removes), default=-1)
    for command in commands[: last + 1]:
        name, *rest = command.texts
        if name not in _BESIDE_REMOVING and command.texts not in leaving:
            return {}
        if name in ("rm", "mv"):
            paths = _operands(rest, _REMOVING_OPTIONS.fullmatch) if name == "rm" else _moved(rest)
            if paths is None or any(word.glob >= 0 for word in command.words):
                return {}
            found[command.texts] = (*found.get(command.texts, ()), *(_below(folder, path) for path in paths))
    return found


def _moved(words: list[str]) -> list[str] | None:
    is_known = (
        _operands([word for word in words if not _WITH_TARGET.match(word)], _MOVING_OPTIONS.fullmatch) is not None
    )
    return [word.text for word in moved([Word(text) for text in words])[0]] if is_known else None


def _below(folder: str, path: str) -> str:
    return path if path.startswith("/") else folder + path


def _operands(words: list[str], is_option: Callable[[str], object]) -> list[str] | None:
    """Return the words that are no options; None if one is unknown."""
    found: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*found, *words[at + 1 :]]
        if word[:1] != "-":
            found.append(word)
        elif not is_option(word):
            return None
    return found
