"""Rules for a project that holds the user's home or this program's own data: what lies hidden there is not work."""

import os
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.paths import cache_folder, state_folder
from localllm.config.schema import SafetyRule, SafetySettings

_MOST_ENTRIES = 5_000
_NOT_HIDDEN = ("Library", "AppData", "Documents/PowerShell", "Documents/WindowsPowerShell", "snap")
"""What systems keep in the home under other names: keys, mail, profiles of browsers, and what they run at a login."""

_OF_PROCESSES = ("/proc", "/sys")  # the keys in the environment of each process, for a project that is `/`


def is_in_home(root: Path) -> bool:
    """Return whether the project `root` is the user's home, or holds it."""
    return _home().is_relative_to(os.path.realpath(root))


def is_hidden_in_home(path: str) -> bool:
    """Return whether a file is hidden in the user's home, `path` in full with links resolved, or among what systems
    keep there under other names: many of these are run, or believed, by programs."""
    home = str(_home())
    return path.startswith(f"{home}/.") or any(f"{path}/".startswith(f"{home}/{name}/") for name in _NOT_HIDDEN)


def guard_home(settings: SafetySettings, root: Path) -> SafetySettings:
    """Add rules for what lies in the project `root` without being work: this program's own data, and what Linux shows
    of processes, is never shown; what is hidden right in a home, only after a question. Hidden names that come later
    are not among them."""
    top = os.path.realpath(root)
    own = (os.path.realpath(folder) for folder in (state_folder(), cache_folder()))
    asked = _hidden(_home()) if is_in_home(root) else []
    rules = [_rule(top, place, "ask") for place in asked]
    rules += [_rule(top, place, "deny") for place in (*own, *_OF_PROCESSES)]
    added = tuple(rule for rule in rules if rule)
    return msgspec.structs.replace(settings, rules=(*settings.rules, *added)) if added else settings


def _hidden(home: Path) -> list[str]:
    try:
        with os.scandir(home) as entries:
            hidden = (entry.name for entry in entries if entry.name.startswith("."))
            names = sorted(islice(hidden, _MOST_ENTRIES))
    except OSError:
        names = []
    return [place for name in (*names, *_NOT_HIDDEN) if os.path.lexists(place := f"{home}/{name}")]


def _home() -> Path:
    return Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - pathlib raises if there is none


def _rule(top: str, place: str, decision: Literal["ask", "deny"]) -> SafetyRule | None:
    if not place.startswith(f"{top.rstrip('/')}/"):
        return None
    return SafetyRule(tool="read_file", decision=decision, prefix=os.path.relpath(place, top))
