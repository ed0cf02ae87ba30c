"""What the settings file of a project may say before the user trusts it: nothing that reaches further than before.

Such a file may come with any repository one has cloned. It may choose among what the user has, and tighten limits.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import get_args

from localllm.base.events import Json
from localllm.base.lazy_patterns import late_pattern
from localllm.config.schema import HARMLESS, Mode, OllamaSettings

_LOOPBACK = late_pattern(
    r"(?:https?://)?(?:localhost|127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\])(?::(?P<port>\d{1,5}))?"
    r"(?:/[a-z0-9._~/-]*)?",
    re.ASCII | re.IGNORECASE,
)

_IN_CLOUD = late_pattern(r"[:-]cloud\b")
"""How Ollama's names of models end that it has run elsewhere."""

SERVERS = ("lmstudio", "ollama", "openai")
"""The providers that need no key: an untrusted project may choose them where their server is on this machine."""

_SAFER = {
    "safety.require_confirmation": True,
    "safety.auto_backup": True,
    "web.enabled": False,
    "sessions.record": False,
}
"""Switches, and which way a project may turn them."""

_MOST_PORT = 65_535
_LONGEST_PATTERN = 200  # characters

MOST_ITEMS = 200
"""The longest list an untrusted project may write."""


def admitted(
    key: str, value: Json, effective: Json, root: Path, addresses: Mapping[str, str] | None = None
) -> Json | None:
    """What takes effect of `value`, written by the untrusted project at `root`; None for nothing.

    `effective` is the value without it. Both are of the setting's type. `addresses`: where the server of a provider
    is, whoever has set that; for llm.model, of each that the name of a model may choose.
    """
    if value == effective:
        return value
    match key:
        case "project.include_patterns" | "project.exclude_patterns":
            return value if _is_short_list(value) else None
        case "safety.deny" | "safety.ask" | "safety.dangerous_commands" | "safety.rules":
            return _added(value, effective)
        case "llm.provider" | "llm.model":
            allowed = _stays_here(key, value, addresses or {})
        case "safety.mode":
            modes = get_args(Mode)
            allowed = modes.index(value) < modes.index(effective)
        case _ if key in _SAFER:
            allowed = value is _SAFER[key]
        case "agent.max_iterations" | "safety.command_timeout" | "llm.context_window":
            allowed = 0 < value < effective
        case "agent.time_limit" | "llm.max_tokens":  # 0 is no limit
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


def _stays_here(key: str, value: str, addresses: Mapping[str, str]) -> bool:
    """Whether what a provider or a model of that name is asked stays on this machine."""
    if key == "llm.provider":
        return value == "embedded" or is_loopback(addresses.get(value, ""))
    return not runs_elsewhere(value) and all(map(is_loopback, addresses.values()))


def _is_short_list(patterns: Sequence[str]) -> bool:
    """Whether they are few and short: each is tried on every file."""
    short = all(len(pattern) <= _LONGEST_PATTERN and pattern.isprintable() for pattern in patterns)
    return short and len(patterns) <= MOST_ITEMS


def _added(value: tuple[Json, ...], effective: tuple[Json, ...]) -> Json | None:
    """The list with those of the project added, but for rules that allow. None for too many: each is tried on every
    call."""
    if len(value) > MOST_ITEMS:
        return None
    new = (item for item in value if getattr(item, "decision", "deny") != "allow" and item not in effective)
    return (*effective, *new)


def is_loopback(address: str) -> bool:
    """Whether the address, whoever reads it, is this machine: localhost, 127.0.0.0/8 or [::1].

    Address parsers disagree about odd spellings (user names, backslashes, look-alike letters, short and octal
    numbers), so only plain ones count; an empty address is none.
    """
    found = _LOOPBACK.fullmatch(address)
    return found is not None and int(found["port"] or 80) <= _MOST_PORT


def addresses_of(base_urls: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Where the servers are: as `base_urls` has them by provider, but Ollama where its own variable says."""
    host = environ.get("OLLAMA_HOST", "").strip(" \t\"'")
    addresses = dict(base_urls)
    if host and addresses["ollama"] == OllamaSettings().base_url:
        addresses["ollama"] = re.sub(r"^(https?://)?(0\.0\.0\.0|(?=:\d))", r"\g<1>127.0.0.1", host)
    return addresses


def runs_elsewhere(model: str) -> bool:
    """Whether a model of this name is one that Ollama has run by its makers, not on this machine."""
    return _IN_CLOUD.search(model.casefold()) is not None


def _is_note_in(root: Path, name: str) -> bool:
    """Whether `name` is a Markdown file in the project, not in a hidden folder, no file that assistants obey, and no
    link leads to another."""
    path = PurePosixPath(name)
    if path.is_absolute() or re.search(r"[\\:\0~]", name) or not _is_note(path):
        return False
    try:
        place = (root / path).resolve()
        if any(part.is_symlink() for part in (place, *place.parents)):  # in a circle, which Python >= 3.13 leaves
            return False
        return _is_note(place.relative_to(root.resolve()))
    except (OSError, RuntimeError, ValueError):  # links in circles before 3.13; one that leads out
        return False


_OBEYED = frozenset({"agents", "claude", "copilot-instructions", "crush", "gemini", "qwen", "skill", "warp"})


def _is_note(path: PurePath) -> bool:
    name = path.name.lower()
    is_hidden = any(part.startswith(".") for part in path.parts)
    return name.endswith(".md") and not is_hidden and name.partition(".")[0] not in _OBEYED


def _is_plain_request(text: str) -> bool:
    """Whether an alias is words for the model: no line of it a command of the shell (!) or of the chat (/)."""
    return not any(line.lstrip().startswith(("!", "/")) for line in text.splitlines())
