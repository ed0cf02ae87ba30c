"""Manage trust in projects: which are trusted, and which settings an untrusted one may set.

A project's settings file may come with any cloned repository. Untrusted, it may choose among what the user has, and
tighten limits.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath, PurePosixPath
from typing import get_args

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.jsontext import decode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.base.paths import state_folder
from localllm.base.project_state import change_file, name_of, newest
from localllm.config.reader import read_text
from localllm.config.schema import HARMLESS, Mode, OllamaSettings

KEPT_CONTENTS = 8
"""Maximum remembered contents of each project's file: the last ones answered."""


class _Store(msgspec.Struct):
    """The stored data: project root → digest of its settings file → whether it is trusted, newest last."""

    projects: dict[str, dict[str, bool]] = {}


def digest_of(text: str) -> str:
    """Return the SHA-256 of a settings file with this text (as from `reader.read_text`), in hexadecimal."""
    return sha256(text.encode()).hexdigest()


class Answers:
    """The user's answers, stored in `file`. A damaged file counts as empty; the next answer rewrites it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @classmethod
    def of_user(cls, environ: Mapping[str, str] = os.environ) -> "Answers":
        """Open the user's answers in the state folder."""
        return cls(state_folder(environ) / "trusted.json")

    def recall(self, root: Path, digest: str) -> tuple[bool | None, Phrase | None]:
        """Return whether the project at `root` is trusted with this content (None: not answered), and a file error if
        any."""
        store, fault = self._read()
        return store.projects.get(name_of(root), {}).get(digest), fault

    def remember(self, root: Path, digest: str, *, believed: bool) -> None:
        """Store an answer. ConfigurationError config_unwritable if it cannot be stored."""

        def put(store: _Store) -> None:
            contents = store.projects.pop(name_of(root), {})
            contents.pop(digest, None)
            contents[digest] = believed
            store.projects[name_of(root)] = newest(contents, KEPT_CONTENTS)
            store.projects = newest(store.projects)

        self._change(put)

    def forget(self, root: Path) -> bool:
        """Delete all answers about the project; return whether there were any. ConfigurationError config_unwritable."""
        if name_of(root) not in self._read()[0].projects:
            return False
        self._change(lambda store: store.projects.pop(name_of(root), None))
        return True

    def _read(self) -> tuple[_Store, Phrase | None]:
        try:
            text = read_text(self._file)
            return (_Store() if text is None else decode_json(text, _Store)), None
        except ConfigurationError as error:
            reason = error.params.get("reason", "")
        except msgspec.DecodeError as error:
            reason = str(error)
        return _Store(), Phrase(
            "Your answers about trusting projects cannot be read and are treated as forgotten ({file}: {reason}).",
            file=self._file,
            reason=reason,
        )

    def _change(self, change: Callable[[_Store], object]) -> None:
        change_file(self._file, lambda: self._read()[0], change)


_LOOPBACK = late_pattern(
    r"(?:https?://)?(?:localhost|127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\])(?::(?P<port>\d{1,5}))?"
    r"(?:/[a-z0-9._~/-]*)?",
    re.ASCII | re.IGNORECASE,
)

_IN_CLOUD = late_pattern(r"[:-]cloud\b")
"""The suffix in names of models that Ollama runs remotely."""

_MODEL_NAME = late_pattern(r"[!-~]{0,200}")
"""What cannot pass for other parts of a line that shows it: without blanks."""

SERVERS = ("lmstudio", "ollama", "openai")
"""Providers that need no key: an untrusted project may choose them if their server is on this machine."""

_SAFER = {
    "offline": True,
    "safety.require_confirmation": True,
    "safety.auto_backup": True,
    "web.enabled": False,
    "sessions.record": False,
}
"""Switches, and the value to which a project may set them."""

_MOST_PORT = 65_535
_LONGEST_PATTERN = 200  # characters

MOST_ITEMS = 200
"""The longest list accepted from an untrusted project."""


def admitted(
    key: str, value: Json, effective: Json, root: Path, addresses: Mapping[str, str] | None = None
) -> Json | None:
    """Return the accepted part of `value`, written by the untrusted project at `root`; None for nothing.

    `effective` is the value without it. Both are of the setting's type. `addresses`: the server addresses by provider,
    from any layer; for llm.model, of each that the model's name may choose.
    """
    if value == effective:
        return value
    match key:
        case "safety.deny" | "safety.ask" | "safety.dangerous_commands" | "safety.rules":
            return _added(value, effective)
        case "llm.provider" | "llm.model":
            allowed = _stays_here(key, value, addresses or {})
        case "safety.mode":
            modes = get_args(Mode)
            allowed = modes.index(value) < modes.index(effective)
        case "agent.max_iterations" | "safety.command_timeout" | "llm.context_window":
            allowed = 0 < value < effective
        case "agent.time_limit" | "llm.max_tokens":  # 0 is no limit
            allowed = value > 0 and (effective == 0 or value < effective)
        case "project.memory_file":
            allowed = _is_note_in(root, value)
        case _ if key.startswith("llm.") and key.endswith(".base_url"):
            allowed = is_loopback(value)
        case _ if key.startswith("commands.aliases."):
            allowed = not effective and _is_plain_request(value)
        case _:
            allowed = is_always_admitted(key, value)
    return value if allowed else None


def is_always_admitted(key: str, value: Json) -> bool:
    """Return whether an untrusted project may set `value` whatever the other layers say, today and later."""
    match key:
        case "project.include_patterns" | "project.exclude_patterns":
            return _is_short_list(value)
        case "safety.dangerous_commands":  # every layer adds to it
            return len(value) <= MOST_ITEMS
        case _ if key in _SAFER:
            return value is _SAFER[key]
        case _:
            return key in HARMLESS


def _stays_here(key: str, value: str, addresses: Mapping[str, str]) -> bool:
    """Return whether requests to a provider or a model of that name stay on this machine, and it is a plain name."""
    if key == "llm.provider":
        return value == "embedded" or is_loopback(addresses.get(value, ""))
    is_name = _MODEL_NAME.fullmatch(value) is not None
    return is_name and not runs_elsewhere(value) and all(map(is_loopback, addresses.values()))


def _is_short_list(patterns: Sequence[str]) -> bool:
    """Return whether the patterns are few and short: each is tried on every file."""
    short = all(len(pattern) <= _LONGEST_PATTERN and pattern.isprintable() for pattern in patterns)
    return short and len(patterns) <= MOST_ITEMS


def _added(value: tuple[Json, ...], effective: tuple[Json, ...]) -> Json | None:
    """Return the list with the project's items added, except rules that allow.
    None if there are too many: each is tried on every call."""
    new = [item for item in value if item not in effective]
    if len(new) > MOST_ITEMS:
        return None
    return (*effective, *(item for item in new if getattr(item, "decision", "deny") != "allow"))


def is_loopback(address: str) -> bool:
    """Return whether every parser resolves the address to this machine: localhost, 127.0.0.0/8 or [::1].

    Address parsers disagree about odd spellings (user names, backslashes, look-alike letters, short and octal numbers),
    so only plain ones count; an empty address is none.
    """
    found = _LOOPBACK.fullmatch(address)
    return found is not None and int(found["port"] or 80) <= _MOST_PORT


def addresses_of(base_urls: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the server addresses: `base_urls` by provider, but OLLAMA_HOST for Ollama if left at its default."""
    host = environ.get("OLLAMA_HOST", "").strip(" \t\"'")
    addresses = dict(base_urls)
    if host and addresses["ollama"] == OllamaSettings().base_url:
        addresses["ollama"] = re.sub(r"^(https?://)?(0\.0\.0\.0|(?=:\d))", r"\g<1>127.0.0.1", host)
    return addresses


def runs_elsewhere(model: str) -> bool:
    """Return whether Ollama runs a model of this name remotely, on its makers' servers."""
    return _IN_CLOUD.search(model.casefold()) is not None


def _is_note_in(root: Path, name: str) -> bool:
    """Return whether `name`, links resolved, is a Markdown file of the project that is no instruction file, and none
    that is published. Files in hidden folders are excluded."""
    path = PurePosixPath(name)
    if path.is_absolute() or re.search(r"[\\:\0~]", name) or not _is_note(path):
        return False
    try:
        place = (root / path).resolve()
        if any(part.is_symlink() for part in (place, *place.parents)):  # a circular link, which Python >= 3.13 leaves
            return False
        return _is_note(place.relative_to(root.resolve()))
    except (OSError, RuntimeError, ValueError):  # circular links before 3.13; a path that leads outside
        return False


_MORE_OBEYED = frozenset({"copilot-instructions", "skill"})
"""Names, without suffix, that count as instruction files here in any folder; elsewhere only in the folders of
assistants."""


_PUBLISHED = ("readme", "index", "changelog", "contributing", "license", "security")
"""Beginnings of the names of files that are shown to others first: what a model says has no place there unasked."""


def _is_note(path: PurePath) -> bool:
    from localllm.base.instruction_files import is_instruction  # needed by the few projects that name a file

    name, _, _ = path.name.casefold().partition(".")  # AGENTS.local.md counts as AGENTS.md
    if path.suffix.lower() != ".md" or any(part.startswith(".") for part in path.parts):
        return False
    is_published = name.startswith(_PUBLISHED)
    return not is_published and name not in _MORE_OBEYED and not is_instruction(path.with_name(f"{name}.md").as_posix())


def _is_plain_request(text: str) -> bool:
    """Return whether an alias is plain text for the model: without shell (!) or chat (/) commands in any line."""
    return not any(line.lstrip().startswith(("!", "/")) for line in text.splitlines())
