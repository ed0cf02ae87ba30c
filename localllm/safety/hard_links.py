"""Extend rules that close files to the files' other names: a file may have several hard links."""

import os
import posixpath
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from localllm.config.schema import SafetyRule, SafetySettings
from localllm.safety.rules import closes_path, is_within, rules_of

_MOST_SECONDS = (
    0.5  # for the files that rules close, and again for their other names in the whole project, if there are any
)

_Identity = tuple[int, int]


def close_other_names(settings: SafetySettings, root: Path) -> SafetySettings:
    """Add rules for the other names, in the project `root`, of the files that rules close."""
    closing = [rule for rule in rules_of(settings) if closes_path(rule) and _is_part(rule.prefix or "")]
    deadline = time.monotonic() + _MOST_SECONDS
    places = dict.fromkeys(rule.prefix or "" for rule in closing)
    linked = {place: frozenset(_linked(root, place, deadline)) for place in places}
    if not any(linked.values()):
        return settings
    wanted = frozenset[_Identity]().union(*linked.values())
    deadline = time.monotonic() + _MOST_SECONDS
    names = [(name, file) for name, file in _linked_names(root, "", deadline) if file in wanted]
    added = [
        SafetyRule(tool=rule.tool, decision="deny", prefix=name)
        for rule in closing
        for name, file in names
        if file in linked[rule.prefix or ""] and not is_within(name, posixpath.normpath(rule.prefix or ""))
    ]
    return msgspec.structs.replace(settings, rules=(*settings.rules, *added))


def _is_part(prefix: str) -> bool:
    """Return whether a path is in the project, and not its root."""
    path = posixpath.normpath(prefix)
    return path != "." and not path.startswith(("/", "../")) and path != ".."


def _linked(root: Path, path: str, deadline: float) -> Iterator[_Identity]:
    """Yield the files with several names at a path, or below it."""
    return (file for _, file in _linked_names(root, path, deadline))


def _linked_names(root: Path, path: str, deadline: float) -> Iterator[tuple[str, _Identity]]:
    for place, about in _files(root, path, deadline):
        if about.st_nlink > 1:
            yield place, (about.st_dev, about.st_ino)


def _files(root: Path, path: str, deadline: float) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files at a path below `root` by their paths there, breadth first, without following links."""
    pending = [path]
    for place in pending:
        if time.monotonic() > deadline:
            return
        try:
            about = os.lstat(root / place)
            if stat.S_ISREG(about.st_mode):
                yield place, about
            elif stat.S_ISDIR(about.st_mode):
                with os.scandir(root / place) as entries:
                    pending += sorted(f"{place}/{entry.name}".lstrip("/") for entry in entries)
        except OSError:
            continue  # deleted meanwhile, or not readable
