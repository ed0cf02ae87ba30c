"""Recognise harmless changes of a git config file: those that cannot make git run something."""

import os
import re
import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import unquote

from localllm.base.files import real_path
from localllm.sandbox.git_config import Setting, parse, write

_HARMLESS = frozenset(
    """
    core.filemode core.ignorecase core.precomposeunicode core.symlinks user.name user.email branch.remote branch.merge
    branch.rebase init.defaultbranch pull.rebase
    """.split()
)
_HARMLESS_WHEN_NEW = frozenset(
    """
    remote.url remote.fetch core.worktree core.repositoryformatversion core.bare core.logallrefupdates
    extensions.objectformat submodule.url submodule.active
    """.split()
)
"""A new repository, clone or submodule has these. In an existing one they are not harmless: it would push to another
place, read its objects as others, refuse to work, or keep no log of its branches."""

_FOLLOWING = frozenset({"branch.remote", "branch.merge"})
_CONNECTING = frozenset({"remote.url", "submodule.url"})
_LEADING = _CONNECTING | {"core.worktree"}
_MOST = 1 << 16  # bytes; git reads a file of any size, but the check after a command has to be bounded

_SECTION = re.compile(r"\[([A-Za-z0-9.-]+)(?: \"([^\"\\]*)\")?\]")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*+=[ \t]*+([^\"\\#;]*)")
_BLANKS = " \t"  # what git passes over around a value, and nothing else
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_REMOTE_NAME = re.compile(r"\.|[\w-][\w.-]*")  # any other may be the path of a folder that is not checked
_NO_ADDRESS = re.compile(
    r"(?i)::|^-|^(?:file:/|(?!\w+://|[^/:]+:))(?:.*/)?(?:\.git/+[^/]|(?:\.hg|\.jj|\.sl|_darcs)(?:/|$))"
)
"""A transport that runs a program; an option; a folder whose hooks are not checked, as in `.git`."""

_SSH = re.compile(r"(?i)(?:git\+)?ssh(?:\+git)?://([^/]*)|(?!\w[\w+.-]*://)(\[[^]/]*\]|[^/:\[]*(?:\[[^]/]*\])?):(?!//)")
_ELSEWHERE = re.compile(
    r"(?:(?:https?|git|ssh|git\+ssh|ssh\+git)://(?:[\w.~%:-]*@)?(?P<host>[A-Za-z0-9][\w.-]*)(?::\d+)?(?:/.*)?"
    r"|(?:[\w.-]+@)?(?P<scp>[A-Za-z0-9][\w.-]*):(?!//|:).*)",
    re.ASCII,
)
_OWN_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
"""Names of this machine that `/etc/hosts` has by itself."""
_LOCAL = re.compile(r"(?i)file:|(?!\w[\w+.-]*://|[^/:]+:)")


def local_address(value: str) -> str:
    """Return the path that the address of a remote denotes; "" if it is on another machine. "/", which is outside the
    project, for one that git would decode or look for in a home. The host in file://host/path is ignored."""
    if not _LOCAL.match(value):
        return ""
    path = re.sub(r"(?i)^file:(?://[^/]*)?", "", value)
    is_odd = not path or path.startswith("~") or (path != value and "%" in path)
    return "/" if is_odd else path


def host_of(address: str) -> str:
    """Return the name of the other machine to which the address of a remote leads, in lower case; "" for one that
    programs might understand differently."""
    match = _ELSEWHERE.fullmatch(address)
    return (match["host"] or match["scp"]).lower() if match else ""


def used_addresses(value: str, settings: Iterable[Setting]) -> list[str]:
    """Return what git may connect to for the address of a remote: itself, and its rewrites by `url.*.insteadOf` and
    `pushInsteadOf`. All of them, as conditions may decide which one git uses."""
    rewriting = (one for one in settings if one.section == "url" and one.name in ("insteadof", "pushinsteadof"))
    return [value, *(f"{one.subsection}{value[len(one.value) :]}" for one in rewriting if value.startswith(one.value))]


def local_places(path: str) -> list[str]:
    """Return where git looks for the repository at the path of a remote: see enter_repo in its path.c."""
    path = path.rstrip("/") or "/"
    return [path, f"{path}/.git", f"{path}.git", f"{path}.git/.git"]


def address_from(base: str, address: str) -> str:
    """Return the address of a submodule, which may be relative to that of the remote of the repository around, `base`:
    see relative_url in git's remote.c."""
    if not address.startswith(("./", "../")):
        return address
    base, sign = base.rstrip("/"), "/"
    while address.startswith(("./", "../")):
        step, _, address = address.partition("/")
        if step == "..":
            sign = "/" if "/" in base else ":"
            base = base.rpartition(sign)[0] or "."
    return f"{base}{sign}{address}".rstrip("/")


def leads_inside(root: Path, data: Path, address: str, settings: Iterable[Setting]) -> bool:
    """Return whether a repository of the project `root` with this data may have the address for a remote: it is a plain
    one, of a repository in the project or of none on this machine. `settings`: the user's own git settings."""
    used = used_addresses(address, settings)
    return all(_is_plain_address(one) and _stays_inside(root, data, local_address(one)) for one in used)


def _stays_inside(root: Path, data: Path, path: str) -> bool:
    """Return whether the path of a remote is that of a repository in the project, or of none yet, as seen from each
    work tree that may use it: git starts from the top of the work tree, which is at least one folder deep in the
    project."""
    if not path:
        return True
    for top in (data.parent if data.name == ".git" else data, root / "work tree"):
        itself, *others = (Path(real_path(top / place)) for place in local_places(path))
        there = [itself, *filter(os.path.lexists, others)]  # outside the project no command can create one
        if not all(target.is_relative_to(root) and not os.path.isfile(target) for target in there):  # noqa: PTH113
            return False
    return True


def is_harmless_change(before: bytes, after: bytes, may_lead: Callable[[str, str], bool]) -> bool:
    """Return whether the files differ only in harmless settings. Any unusual syntax counts as harmful, and so does
    another order of the other settings: of several values git uses the last one, or goes through them.

    A new repository or clone (`before` is empty), a name and address for commits, and what a branch follows that
    followed nothing are harmless; a new push target is not. Nor is it that a branch follows nothing any more, where it
    could begin to follow another remote later. `may_lead`: whether a setting may name a folder on this machine.
    """
    try:
        old, new = _settings(before), _settings(after)
    except ValueError:
        return False
    allowed = _HARMLESS if before else _HARMLESS | _HARMLESS_WHEN_NEW
    others, still = ([one for one in settings if one[0] not in allowed] for settings in (old, new))
    followed = _may_be_followed(old if before else new)
    following = {below for key, _, below in old if key in _FOLLOWING}
    return (
        len(after) <= _MOST
        and others == still
        and all(
            _is_plain(key, value)
            and ((key, value, below) in old or key not in _FOLLOWING or below not in following)
            and (
                key != "branch.remote"
                or (followed - {"."} <= {value} if (key, value, below) in old else value in followed)
            )
            and (key not in _LEADING or may_lead(key, value))
            for key, value, below in set(old) ^ set(new)
        )
    )


def _may_be_followed(settings: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the remotes that a branch may begin to follow: in a repository that was there, one that another follows,
    or the only one. A push by the user goes there, and one of several may be a public one."""
    remotes = {below for key, _, below in settings if key == "remote.url"}
    followed = {value for key, value, _ in settings if key == "branch.remote"}
    return {".", *(remotes if len(remotes) == 1 else remotes & followed)}


def harmless_settings(content: bytes, may_lead: Callable[[str], bool]) -> bytes:
    """Return a config file with only those settings that cannot make git run something. `may_lead`: whether the address
    of a remote may be among them."""
    allowed = _HARMLESS | _HARMLESS_WHEN_NEW - {"core.worktree", "submodule.url", "submodule.active"}
    keys = ((f"{one.section}.{one.name}", one) for one in parse(content))
    harmless = (one for key, one in keys if key in allowed and _is_plain(key, one.value))
    return write(one for one in harmless if (one.section, one.name) != ("remote", "url") or may_lead(one.value))


def _is_plain(key: str, value: str) -> bool:
    """Return whether a value that git would connect to is a plain name or address."""
    if key == "branch.remote":
        return bool(_REMOTE_NAME.fullmatch(value))
    return key not in _CONNECTING or _is_plain_address(value)


def _is_plain_address(value: str) -> bool:
    return not (_NO_ADDRESS.search(value) or _is_ssh_here(value))


def _is_ssh_here(value: str) -> bool:
    """Return whether git would connect to this machine through its own ssh: to any repository of the user's."""
    if not (match := _SSH.match(value)):
        return False
    place = match[1] if match[1] is not None else match[2]
    place = unquote(place) if match[1] is not None else place  # as git does in an address with ://
    within = place.partition("[")[2].partition("]")[0]
    host = (within or place).rpartition("@")[2]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    host = host.partition("%")[0].rstrip(".").casefold()
    return host in _OWN_NAMES or host.endswith(".localhost") or _is_own_address(host)


def _is_own_address(host: str) -> bool:
    """Return whether an address, in any form that the system takes (`127.1`, `0`, `2130706433`), is of this machine."""
    try:
        address = ip_address(host) if ":" in host else ip_address(socket.inet_aton(host))
    except (ValueError, OSError):
        return False
    address = (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
    return address.is_loopback or address.is_unspecified


def _settings(content: bytes) -> list[tuple[str, str, str]]:
    """Parse a file into (`section.name`, value, subsection). Raises ValueError unless it is written as git itself
    does."""
    text = content.decode("utf-8")
    if _ODD.search(text):
        raise ValueError(text)
    found: list[tuple[str, str, str]] = []
    section = below = ""
    for line in (line.strip(_BLANKS) for line in text.split("\n")):
        if heading := _SECTION.fullmatch(line):
            section, below = heading[1], heading[2] or ""
        elif setting := _SETTING.fullmatch(line):
            found.append((f"{section}.{setting[1]}".lower(), setting[2], below))
        elif line and line[0] not in "#;":
            raise ValueError(line)
    return found
