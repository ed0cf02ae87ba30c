"""The user's settings of git and cargo, as commands get them in their own home: without secrets.

Tokens stand in these files as well: in headers, in addresses, as the passwords of registries.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from localllm.sandbox.git_config import Setting, parse, write
from localllm.sandbox.git_programs import PROGRAM_NAMES

CARGO = (".cargo/config.toml", ".cargo/config")

_MOST = 1 << 20  # bytes of a file
_MOST_INCLUDED = 10  # files within one another, as in git
_SECTIONS = (
    "advice apply author blame branch color column commit committer core diff feature fetch filter format gc grep help "
    "index init log maintenance merge pack pretty protocol pull push rebase rerere safe stash status submodule tag "
    "transfer user versionsort worktree alias"
)
"""Sections of which all is kept that is not in `_DROPPED`."""

_DROPPED = (
    "core.hookspath core.worktree commit.gpgsign commit.template tag.gpgsign push.gpgsign user.signingkey merge.tool "
    "diff.tool"
)
"""Programs that are not there, or would wait for somebody: an editor, a key. Command lines are not kept either."""

_PEOPLE = frozenset(
    {f"{who}.{what}" for who in ("user", "author", "committer") for what in ("name", "email", "useconfigonly")}
)
_PLAIN_FILTER = re.compile(r"[\w./+-]+( (smudge|clean|filter-process|--skip|--|\"?%f\"?))*")
_ADDRESS_WITH_SECRET = re.compile(r"://[^/\s@]*@|[^\s\"'/:@]:(?!//)[^\s\"'@]{1,200}@")  # the second: `me:secret@host`
_SECRET = re.compile(r"(?i)token|passw|secret|_auth|authorization|credential|api[-_]?key|bearer")
_GIT_SECRETS = frozenset({"extraheader", "password", "pass", "token", "oauthtoken", "cookiefile", "smtppass"})
_WEB_ADDRESS_WITH_SECRET = re.compile(r"https?://[^/\s@]*@")
_LISTS = {"excludesfile": "ignore", "attributesfile": "attributes"}


def has_secret(file: Path) -> bool:
    """Whether there is such a file, and it looks like holding a secret."""
    return holds_secret(_read(file).decode("utf-8", "replace"))


def has_private_key(file: Path) -> bool:
    """Whether there is such a file, and a private key in it."""
    return b"PRIVATE KEY-----" in _read(file)


def is_git_secret(file: Path) -> bool:
    """Whether there is such a file of git's settings with a secret in it. `ssh://git@…` is none.

    A command line that tells a password has to hold it.
    """
    return any(
        setting.name in _GIT_SECRETS
        or (setting.section == "credential" and setting.name == "helper" and setting.value.startswith("!"))
        or any(map(_WEB_ADDRESS_WITH_SECRET.search, (setting.subsection, setting.value)))
        for setting in parse(_read(file))
    )


def holds_secret(text: str) -> bool:
    """Whether a settings file, or a line of one, looks like holding a secret."""
    return bool(_SECRET.search(text) or _ADDRESS_WITH_SECRET.search(text))


def settings_for(environment: Mapping[str, str], root: Path) -> dict[str, bytes]:
    """Files for the home of a command in the project `root`, by their paths there. `environment` is the user's."""
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        return {}
    return {**_git(environment, home, root), **_cargo(home)}


def _xdg(environment: Mapping[str, str], home: Path) -> Path:
    named = Path(environment.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else home / ".config") / "git"


def _git(environment: Mapping[str, str], home: Path, root: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in _LISTS.values():
        if content := _read(_xdg(environment, home) / name):
            files[f".config/git/{name}"] = content
    kept: list[Setting] = []
    for setting in git_settings_of_user(environment, root):
        if setting.section == "core" and setting.name in _LISTS:
            if content := _read(_path(setting.value, home, home)):
                files[f".config/git/{_LISTS[setting.name]}"] = content
        elif _is_kept(setting):
            kept.append(setting)
        elif setting.section == "filter" and not holds_secret(setting.subsection):
            kept.append(setting._replace(name="required", value="true"))  # or git would store what is unfiltered
    if kept:
        files[".gitconfig"] = write(kept)
    return files


def git_settings_of_user(environment: Mapping[str, str], root: Path | None = None) -> list[Setting]:
    """All settings of the user's own files, with what they include for a repository at `root`, in their order.

    Without a root, with all that may be included for any repository (which branch it is on, or what its remote is, will
    change), and with those of the machine.
    """
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        return []
    named = environment.get("GIT_CONFIG_GLOBAL")
    files = [home / named] if named is not None else [_xdg(environment, home) / "config", home / ".gitconfig"]
    if root is None:
        files.insert(0, home / environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    return [setting for file in files for setting in _all(file, home, root, 0)]


def _all(file: Path, home: Path, root: Path | None, depth: int) -> Iterator[Setting]:
    for setting in parse(_read(file)):
        yield setting
        is_include = setting.section == "include" or (
            setting.section == "includeif" and (root is None or _applies(setting.subsection, file, home, root))
        )
        if is_include and setting.name == "path" and depth < _MOST_INCLUDED:
            yield from _all(_path(setting.value, file.parent, home), home, root, depth + 1)


def _applies(condition: str, file: Path, home: Path, root: Path) -> bool:
    """Whether a condition on the place of the repository is met; the others are not looked at."""
    kind, _, pattern = condition.partition(":")
    if kind not in ("gitdir", "gitdir/i"):
        return False
    if pattern.startswith("./"):
        pattern = f"{file.parent}{pattern[1:]}"
    elif pattern.startswith("~/"):
        pattern = f"{os.path.realpath(home)}{pattern[1:]}"
    elif not pattern.startswith("/"):
        pattern = f"*/{pattern}"
    pattern += "*" if pattern.endswith("/") else ""
    place = f"{root}/.git"
    return fnmatchcase(place.lower(), pattern.lower()) if kind.endswith("i") else fnmatchcase(place, pattern)


def _is_kept(setting: Setting) -> bool:
    section, subsection, name, value = setting
    full = f"{section}.{name}"
    if section not in _SECTIONS.split() or full in _DROPPED.split():
        return False
    if name in PROGRAM_NAMES or value.startswith("!"):  # any word of a command line may be a secret
        return section == "filter" and bool(_PLAIN_FILTER.fullmatch(value))
    if section in ("user", "author", "committer"):
        return full in _PEOPLE and not _ADDRESS_WITH_SECRET.search(value)
    return not any(holds_secret(text) for text in (subsection, name, value))


def _cargo(home: Path) -> dict[str, bytes]:
    texts = {name: _read(home / name).decode("utf-8", "replace") for name in CARGO}
    return {name: _plain_toml(text).encode() for name, text in texts.items() if text}


def _plain_toml(text: str) -> str:
    """The text without the lines that look like holding a secret; nothing where it is no TOML then."""
    rest = "".join(line for line in text.splitlines(keepends=True) if line.startswith("[") or not holds_secret(line))
    try:
        values = str(tomllib.loads(rest))
    except (ValueError, RecursionError):
        return ""
    return "" if _ADDRESS_WITH_SECRET.search(rest) or _ADDRESS_WITH_SECRET.search(values) else rest


def _path(value: str, beside: Path, home: Path) -> Path:
    return home / value[2:] if value.startswith("~/") else beside / value


def _read(file: Path) -> bytes:
    """Nothing where there is no file, or none that can be read."""
    with suppress(OSError):
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(fd, "rb") as opened:  # noqa: PTH123 - a descriptor has no path
            return opened.read(_MOST)
    return b""


def put_into(home: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into the home of a command, which nobody uses yet. Not where a link leads out of it."""
    top = home.resolve()
    for name, content in files.items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.resolve() == file.parent and not os.path.lexists(file):
            file.write_bytes(content)
