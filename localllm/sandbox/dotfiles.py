"""Provide the user's git and cargo settings, without secrets, for the home that commands get.

These files may also contain tokens: in headers, in addresses, as passwords of registries.
"""

import errno
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from localllm.base.files import open_made
from localllm.base.regular_files import open_linkless
from localllm.sandbox.git_config import Setting, expanded, parse, write
from localllm.sandbox.git_programs import names_program
from localllm.sandbox.symlinks import Resolved, resolve

CARGO = (".cargo/config.toml", ".cargo/config")

_MOST = 1 << 20  # bytes of a file
_MOST_INCLUDED = 10  # nested includes, as in git
_MOST_IN_VARIABLES = 1_000  # settings
_SECTIONS = (
    "advice apply author blame branch color column commit committer core diff feature fetch filter format gc grep help "
    "index init log maintenance merge pack pretty protocol pull push rebase rerere safe stash status submodule tag "
    "transfer user versionsort worktree alias"
)
"""Sections of which everything is kept except what is in `_DROPPED`."""

_DROPPED = (
    "core.hookspath core.worktree commit.gpgsign commit.template tag.gpgsign push.gpgsign user.signingkey merge.tool "
    "diff.tool"
)
"""Programs that are not there, or would wait for the user: an editor, a key. Command lines are not kept either. Of
hooks, those in the home are dropped."""

_PEOPLE = frozenset(
    {f"{who}.{what}" for who in ("user", "author", "committer") for what in ("name", "email", "useconfigonly")}
)
_PLAIN_FILTER = re.compile(r"[\w./+-]+( (smudge|clean|filter-process|--skip|--|\"?%f\"?))*")
_ADDRESS_WITH_SECRET = re.compile(r"://[^/\s@]*@|[^\s\"'/:@]:(?!//)[^\s\"'@]{1,200}@")  # the second: `me:secret@host`
_SECRET = re.compile(r"(?i)token|passw|secret|_auth|authorization|credential|api[-_]?key|bearer")
_GIT_SECRETS = frozenset({"extraheader", "password", "pass", "token", "oauthtoken", "cookiefile", "smtppass"})
_WEB_ADDRESS_WITH_SECRET = re.compile(r"https?://[^/\s@]*@")
_HAS_REMOTE = "hasconfig:remote.*.url:"
_LONGEST_NAME = 4_096  # of a branch, or an address
_LISTS = {"excludesfile": "ignore", "attributesfile": "attributes"}


def has_secret(file: Path) -> bool:
    """Return whether the file exists and looks like it contains a secret."""
    return holds_secret(_read(file).decode("utf-8", "replace"))


def has_private_key(file: Path) -> bool:
    """Return whether the file exists and contains a private key."""
    return b"PRIVATE KEY-----" in _read(file)


def is_git_secret(file: Path) -> bool:
    """Return whether the file exists and is a git config file with a secret. `ssh://git@…` is none.

    A shell command as credential helper counts: to print a password it has to contain it.
    """
    return any(
        setting.name in _GIT_SECRETS
        or (setting.section == "credential" and setting.name == "helper" and setting.value.startswith("!"))
        or any(map(_WEB_ADDRESS_WITH_SECRET.search, (setting.subsection, setting.value)))
        for setting in parse(_read(file))
    )


def holds_secret(text: str) -> bool:
    """Return whether a settings file, or a line of one, looks like it contains a secret."""
    return bool(_SECRET.search(text) or _ADDRESS_WITH_SECRET.search(text))


def settings_for(environment: Mapping[str, str], root: Path) -> dict[str, bytes]:
    """Return the files for the home of a command in the project `root`, by path below it. `environment` is the
    user's."""
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        return {}
    return {**_git(environment, home, root), **_cargo(home, root)}


def _xdg(environment: Mapping[str, str], home: Path) -> Path:
    named = Path(environment.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else home / ".config") / "git"


def _git(environment: Mapping[str, str], home: Path, root: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in _LISTS.values():
        if content := _read_own(_xdg(environment, home) / name, root):
            files[f".config/git/{name}"] = content
    kept: list[Setting] = []
    for file, setting in _settings_of_user(environment, root):
        if setting.section == "core" and setting.name in _LISTS:
            named = resolve(str(_path(setting.value, home, home)), root)
            if _is_in(root, file) and not _is_in(root, named.real):
                continue  # a command could name any file of the home there, and read it as its list
            if content := _read_real(named):
                files[f".config/git/{_LISTS[setting.name]}"] = content
        elif _is_kept(setting) or (_names_hooks(setting) and _is_shown(setting.value, home, root)):
            kept.append(setting)
        elif setting.section == "filter" and not holds_secret(setting.subsection):
            kept.append(setting._replace(name="required", value="true"))  # or git would store unfiltered content
    if kept:
        files[".gitconfig"] = write(kept)
    return files


def hooks_out_of_sight(settings: list[Setting], environment: Mapping[str, str], root: Path) -> Path | None:
    """Return the folder with the user's hooks, by their own git settings, if commands do not see it."""
    home = Path(environment.get("HOME", ""))
    named = [one.value for one in settings if _names_hooks(one)][-1:]
    return _path(named[0], root, home) if named and not _is_shown(named[0], home, root) else None


def _names_hooks(setting: Setting) -> bool:
    return (setting.section, setting.name) == ("core", "hookspath")


def _is_shown(value: str, home: Path, root: Path) -> bool:
    """Return whether commands see a path of git's settings: it is relative, in the project, or not in the home."""
    path = os.path.normpath(_path(value, root, home))
    return _is_in(root, path) or not f"{path}/".startswith((f"{home}/", f"{os.path.realpath(home)}/"))


def git_settings_of_user(environment: Mapping[str, str], root: Path | None = None) -> list[Setting]:
    """Return all settings in the user's own files, with what these include for a repository at `root`, in their order.

    Paths of included files are absolute. Without `root`, with everything that may be included for any repository (its
    branch or its remotes may change), and with the settings of the machine and of variables.
    """
    return [setting for _, setting in _settings_of_user(environment, root)]


def _settings_of_user(environment: Mapping[str, str], root: Path | None) -> Iterator[tuple[str, Setting]]:
    """Yield the settings, each with the path of the file that contains it, for a `root` with symlinks resolved."""
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        return
    named = environment.get("GIT_CONFIG_GLOBAL")
    files = [home / named] if named is not None else [_xdg(environment, home) / "config", home / ".gitconfig"]
    if root is None:
        files.insert(0, home / environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    for file in files:
        yield from _all(file, home, root, 0)
    if root is None:
        yield from (("", setting) for setting in _of_variables(environment))


def _of_variables(environment: Mapping[str, str]) -> Iterator[Setting]:
    """Yield the settings in the variables of `GIT_CONFIG_COUNT`."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    for number in range(min(int(count) if count.isdecimal() else 0, _MOST_IN_VARIABLES)):
        key, value = (environment.get(f"GIT_CONFIG_{part}_{number}", "") for part in ("KEY", "VALUE"))
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        yield Setting(section.lower(), subsection, name.lower(), value)


def _all(file: Path, home: Path, root: Path | None, depth: int) -> Iterator[tuple[str, Setting]]:
    found = resolve(str(file), root) if root else None
    for setting in parse(_read_real(found) if found else _read(file)):
        if setting.name == "path" and setting.section in ("include", "includeif"):
            setting = setting._replace(value=str(_path(setting.value, file.parent, home)))  # noqa: PLW2901 - the same
        yield found.real if found else str(file), setting
        is_include = setting.section == "include" or (
            setting.section == "includeif" and (root is None or _applies(setting.subsection, file, home, root))
        )
        if is_include and setting.name == "path" and depth < _MOST_INCLUDED:
            yield from _all(Path(setting.value), home, root, depth + 1)


def _is_in(root: Path, real: str) -> bool:
    return real.startswith(f"{root}/")


def _applies(condition: str, file: Path, home: Path, root: Path) -> bool:
    """Return whether a condition on the repository is met: its location, its branch or the addresses of its remotes."""
    kind, _, pattern = condition.partition(":")
    if kind == "onbranch":
        return _is_matched(_branch(root), f"{pattern}**" if pattern.endswith("/") else pattern)
    if condition.startswith(_HAS_REMOTE):
        return any(_is_matched(address, condition.removeprefix(_HAS_REMOTE)) for address in _remotes(root))
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


def _is_matched(text: str, pattern: str) -> bool:
    """Return whether the pattern matches as git's do: `*` within a part of a path, `**` any number of them."""
    parts = re.split(r"(\*\*/|\*+|\?)", pattern)
    signs = {"**/": "(?:.*/)?", "*": "[^/]*", "**": ".*", "?": "[^/]"}
    wanted = "".join(signs.get(part, re.escape(part)) for part in parts)
    return bool(text) and len(text) <= _LONGEST_NAME and re.fullmatch(wanted, text) is not None


def _branch(root: Path) -> str:
    """Return the branch of the repository that the project is in; "" if none is checked out."""
    head = _line(_data(root) / "HEAD")
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def _remotes(root: Path) -> list[str]:
    data = _data(root)
    settings = parse(_read(data / (_line(data / "commondir") or ".") / "config"))
    return [one.value for one in settings if (one.section, one.name) == ("remote", "url")]


def _data(root: Path) -> Path:
    """Return the data of the repository that the project is in. What it says decides only between settings of the
    user's, so that nobody has to confirm it."""
    git = next((top / ".git" for top in (root, *root.parents) if os.path.lexists(top / ".git")), root / ".git")
    return git.parent / _line(git).removeprefix("gitdir: ") if git.is_file() else git


def _line(file: Path) -> str:
    return _read(file).decode("utf-8", "replace").strip()


def _is_kept(setting: Setting) -> bool:
    section, subsection, name, value = setting
    full = f"{section}.{name}"
    if section not in _SECTIONS.split() or full in _DROPPED.split():
        return False
    if names_program(name) or value.startswith("!"):  # any word of a command line may be a secret
        return section == "filter" and bool(_PLAIN_FILTER.fullmatch(value))
    if section in ("user", "author", "committer"):
        return full in _PEOPLE and not _ADDRESS_WITH_SECRET.search(value)
    return not any(holds_secret(text) for text in (subsection, name, value))


def _cargo(home: Path, root: Path) -> dict[str, bytes]:
    texts = {name: _read_own(home / name, root).decode("utf-8", "replace") for name in CARGO}
    return {name: _plain_toml(text).encode() for name, text in texts.items() if text}


def _plain_toml(text: str) -> str:
    """Return the text without the lines that look like they contain a secret; empty if the rest is not TOML."""
    rest = "".join(line for line in text.splitlines(keepends=True) if line.startswith("[") or not holds_secret(line))
    try:
        values = str(tomllib.loads(rest))
    except (ValueError, RecursionError):
        return ""
    return "" if _ADDRESS_WITH_SECRET.search(rest) or _ADDRESS_WITH_SECRET.search(values) else rest


def _path(value: str, beside: Path, home: Path) -> Path:
    return beside / expanded(value, str(home))


def _read_own(file: Path, root: Path) -> bytes:
    """Return the content of a file of the user; empty if a symlink in the project `root` leads to it from there, as a
    command could make it lead to any file."""
    return _read_real(resolve(str(file), root))


def _read_real(file: Resolved) -> bytes:
    if not file.leads_out:
        with suppress(OSError), open_linkless(Path(file.real)) as opened:
            return opened.read(_MOST)
    return b""


def _read(file: Path) -> bytes:
    """Return the content of the file; empty if it does not exist or cannot be read."""
    with suppress(OSError):
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(fd, "rb") as opened:  # noqa: PTH123 - a descriptor has no path
            return opened.read(_MOST)
    return b""


def put_into(home: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into the home of a command that has not started. A file is left out where something is in its
    place, or a symlink is on the way to it from the folder of the home on."""
    for name, content in files.items():
        file = home / name
        try:
            if sys.platform == "win32":
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            else:
                _put(home, name, content)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EEXIST):
                raise


def _put(home: Path, name: str, content: bytes) -> None:
    above, _, last = f"{home.name}/{name}".rpartition("/")
    folder = open_made(home.parent, above)
    try:
        with open(last, "xb", opener=lambda file, flags: os.open(file, flags, dir_fd=folder)) as file:
            file.write(content)
    finally:
        os.close(folder)
