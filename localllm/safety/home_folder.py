"""Rules for a project that holds the user's home or this program's own data: what lies hidden there is not work."""

import os
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.hidden_in_home import NOT_HIDDEN, is_in_home, real_home
from localllm.base.paths import cache_folder, state_folder
from localllm.config.schema import SafetyRule, SafetySettings
from localllm.safety.rules import WRITING_TOOLS

_MOST_ENTRIES = 5_000
_OF_PROCESSES = ("/proc", "/sys")  # the keys in the environment of each process, for a project that is `/`


def guard_home(settings: SafetySettings, root: Path) -> SafetySettings:
    """Add rules for what lies in the project `root` without being work: this program's own data, and what Linux shows
    of processes, is never shown; what is hidden right in a home, only after a question, and no file is written there
    without one. Hidden names that come later are not among them."""
    top = os.path.realpath(root)
    folders = (state_folder(), cache_folder()) if is_in_home(root) else (state_folder(),)
    own = map(os.path.realpath, folders)
    asked = _hidden(real_home()) if is_in_home(root) else []
    rules = [_rule(top, place, "ask") for place in asked]
    rules += [_rule(top, place, "deny") for place in (*own, *_OF_PROCESSES)]
    if is_in_home(root):  # programs of the user's believe files there of any name
        rules += [SafetyRule(tool=tool, decision="ask") for tool in WRITING_TOOLS]
    added = tuple(rule for rule in rules if rule)
    return msgspec.structs.replace(settings, rules=(*settings.rules, *added)) if added else settings


def _hidden(home: Path) -> list[str]:
    try:
        with os.scandir(home) as entries:
            hidden = (entry.name for entry in entries if entry.name.startswith("."))
            names = sorted(islice(hidden, _MOST_ENTRIES))
    except OSError:
        names = []
    return [place for name in (*names, *NOT_HIDDEN) if os.path.lexists(place := f"{home}/{name}")]


def _rule(top: str, place: str, decision: Literal["ask", "deny"]) -> SafetyRule | None:
    if not place.startswith(f"{top.rstrip('/')}/"):
        return None
    return SafetyRule(tool="read_file", decision=decision, prefix=os.path.relpath(place, top))
