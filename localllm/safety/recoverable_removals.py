"""Find the `rm` commands of a line that remove only recoverable files."""

import os
from collections.abc import Callable, Iterable, Mapping

from localllm.base.lazy_patterns import late_pattern
from localllm.safety.paths import ProjectRoot
from localllm.safety.plain_commands import plain_commands

_REMOVING_OPTIONS = late_pattern(r"-[rRfvdi]+|--(?:recursive|force|verbose|dir)")
_BESIDE_REMOVING = frozenset({"rm", "mkdir", "echo", "true", "ls", "pwd"})
"""Commands allowed before `rm` in a line whose removals are certain: they give nothing another name."""


def recoverable_removals(
    line: str, folder: str, root: ProjectRoot, would_bring_back: Callable[[ProjectRoot, Iterable[str]], bool]
) -> frozenset[tuple[str, ...]]:
    """Return the `rm` commands, by their words, of which `would_bring_back` is true for all removed paths.

    `folder`, where `line` runs, and the paths passed on are relative to `root`.
    """
    inside = f"{root.path}/"
    found: list[tuple[str, ...]] = []
    for words, paths in _removed(line).items():
        relative = [os.path.join(inside, folder, path).removeprefix(inside) for path in paths]  # noqa: PTH118 - strings
        if would_bring_back(root, relative):
            found.append(words)
    return frozenset(found)


def _removed(line: str) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Return the paths, relative to where the line runs, that each `rm` of a plain line removes, by its words. Empty if
    that is not certain."""
    commands = plain_commands(line)
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    folder = ""
    if commands and commands[0].words[0].text == "cd" and len(commands) > 1 and commands[1].after == "&&":
        texts = commands[0].texts
        if len(texts) != 2 or texts[1][:1] in ("-", "/", "") or commands[0].words[1].glob >= 0:
            return {}
        folder, commands = f"{texts[1]}/", commands[1:]
    last = max((at for at, command in enumerate(commands) if command.texts[0] == "rm"), default=-1)
    for command in commands[: last + 1]:
        name, *rest = command.texts
        if name not in _BESIDE_REMOVING:
            return {}
        if name == "rm":
            paths = _operands(rest, _REMOVING_OPTIONS.fullmatch)
            if paths is None or any(word.glob >= 0 for word in command.words):
                return {}
            found[command.texts] = (*found.get(command.texts, ()), *(_below(folder, path) for path in paths))
    return found


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
