"""Close the other names of files that rules close: by a hard link one file has several, and none says that it has."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from localllm.config.schema import SafetyRule, SafetySettings
from localllm.safety.rules import closes_path, is_within, rules_of

_MOST_FILES = 20_000  # looked at for a rule
_MOST_SECONDS = 1.0  # for the names in the whole project, which are looked for only where such a file was found

_Identity = tuple[int, int]


def close_other_names(settings: SafetySettings, root: Path) -> SafetySettings:
    """Add to the rules that close paths the same for the other names, in the project `root`, of the files there."""
    closing = [rule for rule in rules_of(settings) if closes_path(rule)]
    linked = {rule: _linked(root, rule.prefix or "") for rule in closing}
    if not any(linked.values()):
        return settings
    names = list(_names(root, frozenset[_Identity]().union(*linked.values())))
    added = [
        SafetyRule(tool=rule.tool, decision="deny", prefix=name)
        for rule, files in linked.items()
        for name, file in names
        if file in files and not is_within(name, os.path.normpath(rule.prefix or ""))
    ]
    return msgspec.structs.replace(settings, rules=(*settings.rules, *added))


def _linked(root: Path, path: str) -> frozenset[_Identity]:
    """The files with several names at a path, or below it."""
    found: set[_Identity] = set()
    for number, (_, about) in enumerate(_files(root, path)):
        if about.st_nlink > 1:
            found.add((about.st_dev, about.st_ino))
        if number >= _MOST_FILES:
            break
    return frozenset(found)


def _names(root: Path, wanted: frozenset[_Identity]) -> Iterator[tuple[str, _Identity]]:
    deadline = time.monotonic() + _MOST_SECONDS
    for path, about in _files(root, ""):
        if (identity := (about.st_dev, about.st_ino)) in wanted:
            yield path, identity
        if time.monotonic() > deadline:
            return


def _files(root: Path, path: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files at a path below `root`, the nearest first, by their paths there. Links are not followed."""
    pending = [path]
    for place in pending:
        try:
            about = os.lstat(root / place)
            if stat.S_ISREG(about.st_mode):
                yield place, about
            elif stat.S_ISDIR(about.st_mode):
                with os.scandir(root / place) as entries:
                    pending += sorted(f"{place}/{entry.name}".lstrip("/") for entry in entries)
        except OSError:
            continue  # gone meanwhile, or not ours to read
