"""What the settings file of a project may say before the user trusts it: nothing that reaches further than before.

Such a file may come with any repository one has cloned. It may choose among what the user has, and tighten limits.
"""

import re
from pathlib import Path, PurePosixPath
from typing import get_args

from localllm.base.config.schema import HARMLESS, Mode
from localllm.base.events import Json
from localllm.base.patterns import late_pattern

_LOOPBACK = late_pattern(
    r"(?:https?://)?(?:localhost|127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\])(?::\d{1,5})?"
    r"(?:/[a-z0-9._~/-]*)?",
    re.ASCII | re.IGNORECASE,
)


def admitted(key: str, value: Json, effective: Json, root: Path) -> Json | None:
    """What takes effect of `value`, written by the untrusted project at `root`; None for nothing.

    `effective` is the value without it. Both are of the setting's type.
    """
    if value == effective:
        return value
    match key:
        case "safety.deny" | "safety.ask" | "safety.dangerous_commands":
            return (*effective, *(item for item in value if item not in effective))
        case "safety.rules":
            return (*effective, *(rule for rule in value if rule.decision != "allow" and rule not in effective))
        case "safety.mode":
            modes = get_args(Mode)
            allowed = modes.index(value) < modes.index(effective)
        case "safety.require_confirmation" | "safety.auto_backup":
            allowed = value is True
        case "web.enabled" | "sessions.record":
            allowed = value is False
        case "agent.max_iterations" | "safety.command_timeout":
            allowed = value < effective
        case "agent.time_limit":
            allowed = value > 0 and (effective == 0 or value < effective)
        case "project.memory_file":
            allowed = _is_note_in(root, value)
        case _ if key.startswith("llm.") and key.endswith(".base_url"):
            allowed = is_loopback(value)
        case _ if key.startswith("commands.aliases."):
            allowed = _is_plain_request(value)
        case _:
            allowed = key in HARMLESS
    return value if allowed else None


def is_loopback(address: str) -> bool:
    """Whether the address, whoever reads it, is this machine: localhost, 127.0.0.0/8 or [::1].

    Address parsers disagree about odd spellings (user names, backslashes, look-alike letters, short and octal
    numbers), so only plain ones count; an empty address is none.
    """
    return _LOOPBACK.fullmatch(address) is not None


def _is_note_in(root: Path, name: str) -> bool:
    """Whether `name` is a Markdown file in the project, not in a hidden folder, and no link leads out of it."""
    path = PurePosixPath(name)
    if not name.lower().endswith(".md") or path.is_absolute() or re.search(r"[\\:\0~]", name):
        return False
    if any(part.startswith(".") for part in path.parts):
        return False
    try:
        return (root / path).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # links in circles
        return False


def _is_plain_request(text: str) -> bool:
    """Whether an alias is words for the model: no line of it a command of the shell (!) or of the chat (/)."""
    return not any(line.lstrip().startswith(("!", "/")) for line in text.splitlines())
