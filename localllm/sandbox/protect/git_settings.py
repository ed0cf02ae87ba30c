"""Which changes of a repository's settings file are harmless: those that git cannot be made to run something by."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from localllm.base.files import real_path
from localllm.sandbox.git_config import Setting, parse, write

_HARMLESS = frozenset(
    """
    core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
    core.symlinks user.name user.email branch.remote branch.merge branch.rebase init.defaultbranch pull.rebase
    """.split()
)
_HARMLESS_WHEN_NEW = frozenset({"remote.url", "remote.fetch", "core.worktree"})
"""A clone or a submodule has these; that an existing repository gets another place to push to is no small thing."""

_LEADING = frozenset({"remote.url", "core.worktree"})
_MOST = 1 << 16  # bytes; git looks at all of a file, and there is an end to what is looked at after a command

_SECTION = re.compile(r"\[([A-Za-z0-9.-]+)(?: \"([^\"\\]*)\")?\]")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*) ?= ?([^\"\\#;]*)")
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_REMOTE_NAME = re.compile(r"\.|[\w-][\w.-]*")  # another may be a folder that is not looked into
_NO_ADDRESS = re.compile(
    r"(?i)::|^-|^(?:file:/|(?!\w+://|[^/:]+:))(?:.*/)?(?:\.git/+[^/]|(?:\.hg|\.jj|\.sl|_darcs)(?:/|$))"
)
"""A transport that runs a program; an option; a folder whose hooks nobody looks at, as in `.git`."""

_SSH_HERE = re.compile(
    r"(?i)^(?:(?:git\+)?ssh(?:\+git)?://(?:[^/@]*@)?\[?(?:localhost|127\.[\d.]+|::1)(?![\w.-])"
    r"|(?:[^/@:]*@)?\[?(?:localhost|127\.[\d.]+|::1)\]?:(?!//))"
)
"""This machine, by way of its own ssh: any repository of the user's."""
_LOCAL = re.compile(r"(?i)file:|(?!\w[\w+.-]*://|[^/:]+:)")


def local_address(value: str) -> str:
    """The path that the address of a remote is; "" for one on another machine. One that git would decode, or look for
    in a home, is "/": elsewhere. What git takes for the host in file://host/path counts for nothing."""
    if not _LOCAL.match(value):
        return ""
    path = re.sub(r"(?i)^file:(?://[^/]*)?", "", value)
    is_odd = not path or path.startswith("~") or (path != value and "%" in path)
    return "/" if is_odd else path


def used_addresses(value: str, settings: Iterable[Setting]) -> list[str]:
    """What git may connect to for the address of a remote: it, and what `url.*.insteadOf` and `pushInsteadOf` make of
    it. Which of several counts is not asked: that can hang on conditions."""
    rewriting = (one for one in settings if one.section == "url" and one.name in ("insteadof", "pushinsteadof"))
    return [value, *(f"{one.subsection}{value[len(one.value) :]}" for one in rewriting if value.startswith(one.value))]


def local_places(path: str) -> list[str]:
    """Where git looks for the repository at the path that a remote names: see enter_repo in its path.c."""
    path = path.rstrip("/") or "/"
    return [path, f"{path}/.git", f"{path}.git", f"{path}.git/.git"]


def leads_inside(root: Path, data: Path, address: str, settings: Iterable[Setting]) -> bool:
    """Whether a repository of the project `root` with this data may have the address for a remote: it is a mere one,
    and leads to a repository of the project, or to none on this machine. `settings`: the user's own."""
    used = used_addresses(address, settings)
    return all(_is_plain_address(one) and _stays_inside(root, data, local_address(one)) for one in used)


def _stays_inside(root: Path, data: Path, path: str) -> bool:
    """Whether the repository at the path of a remote is one of the project's, or none yet, from each work tree that may
    begin to use it: git starts from its top, and that lies one folder deep in the project or more."""
    if not path:
        return True
    for top in (data.parent if data.name == ".git" else data, root / "work tree"):
        itself, *others = (Path(real_path(top / place)) for place in local_places(path))
        there = [itself, *filter(os.path.lexists, others)]  # beside the project nobody will make one
        if not all(target.is_relative_to(root) and not os.path.isfile(target) for target in there):  # noqa: PTH113
            return False
    return True


def is_harmless_change(before: bytes, after: bytes, may_lead: Callable[[str, str], bool]) -> bool:
    """Whether the files differ in harmless settings alone. What is written in any unusual way is not harmless.

    A new repository or clone (`before` is empty), a name and address for commits, and the branch that another follows
    are such changes; another place to push to is not. `may_lead`: whether a setting may name a folder on this machine.
    """
    try:
        old, new = _settings(before), _settings(after)
    except ValueError:
        return False
    changed = set(old) ^ set(new)
    allowed = _HARMLESS if before else _HARMLESS | _HARMLESS_WHEN_NEW
    remotes = {below for key, _, below in new if key == "remote.url"}
    return len(after) <= _MOST and all(
        key in allowed
        and _is_plain(key, value)
        and (key != "branch.remote" or value == "." or value in remotes or (key, value, below) in old)
        and (key not in _LEADING or may_lead(key, value))
        for key, value, below in changed
    )


def harmless_settings(content: bytes, may_lead: Callable[[str], bool]) -> bytes:
    """The settings of a file that git cannot be made to run something by, as a file. `may_lead`: whether the address of
    a remote may be among them."""
    allowed = _HARMLESS | _HARMLESS_WHEN_NEW - {"core.worktree"}
    keys = ((f"{one.section}.{one.name}", one) for one in parse(content))
    harmless = (one for key, one in keys if key in allowed and _is_plain(key, one.value))
    return write(one for one in harmless if (one.section, one.name) != ("remote", "url") or may_lead(one.value))


def _is_plain(key: str, value: str) -> bool:
    """Whether a value that git would connect to is a mere name or address."""
    if key == "branch.remote":
        return bool(_REMOTE_NAME.fullmatch(value))
    return key != "remote.url" or _is_plain_address(value)


def _is_plain_address(value: str) -> bool:
    return not (_NO_ADDRESS.search(value) or _SSH_HERE.match(value))


def _settings(content: bytes) -> list[tuple[str, str, str]]:
    """(`section.name`, value, sub-section), for files written as git itself writes them; ValueError for others."""
    text = content.decode("utf-8")
    if _ODD.search(text):
        raise ValueError(text)
    found: list[tuple[str, str, str]] = []
    section = below = ""
    for line in map(str.strip, text.split("\n")):
        if heading := _SECTION.fullmatch(line):
            section, below = heading[1], heading[2] or ""
        elif setting := _SETTING.fullmatch(line):
            found.append((f"{section}.{setting[1]}".lower(), setting[2], below))
        elif line and line[0] not in "#;":
            raise ValueError(line)
    return found
