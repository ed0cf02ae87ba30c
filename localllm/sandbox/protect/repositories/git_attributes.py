"""Judge changes of `.gitattributes` where a filter of the user's encrypts files as they are committed (git-crypt).

A line in one of these files takes the filter off: the next commit of a secret, and the push, have it in clear.
"""

import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.protect.protected_paths import Entry, is_attributes, is_git_settings
from localllm.sandbox.protect.repositories.repository import all_settings_of, find_place, whole, with_included

_OF_NO_SECRET = frozenset({"lfs"})
"""Filters that take files out of the repository only because these are large."""

_HARMLESS = re.compile(
    r"[-!]?(?:text|crlf|diff|merge|binary|whitespace|export-ignore|export-subst|ident|conflict-marker-size"
    r"|(?:linguist|gitlab)-[\w-]+)(?:=\S*)?|eol=\S*"
)
"""Attributes that have nothing to do with filters. Others may be macros that set one."""

_MACRO = re.compile(rb'(?:\[attr\]|("(?:\[|\\133)))([^ \t\r]*)(.*)', re.DOTALL)
"""A line that defines one; its name may be in quotes."""

_BLANKS = re.compile(rb"[ \t\r]+")

_TOO_LONG = 2_048
"""Bytes of a line that git passes over (attr.h)."""


_MOST_LINKS = 10  # to an included file


class OwnFilters:
    """The filters by which the settings of the user and of the project's repositories change what is committed."""

    def __init__(self, root: Path, entries: Mapping[str, Entry], folders: Iterable[Path] = ()) -> None:
        """`entries`: those at protected names, among them the settings of repositories. `folders`: others whose
        repositories count."""
        self._root = root
        self._entries = entries
        self._folders = folders

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return bool(self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(one.subsection for one in self._settings() if _is_filter(one))

    def _settings(self) -> Iterator[Setting]:
        yield from git_settings_of_user(os.environ)
        home = os.environ.get("HOME", "")
        folders = {self._root: None, **dict.fromkeys(self._folders)}
        for path, entry in self._entries.items():
            if entry.content and is_git_settings(path):
                yield from with_included(parse(entry.content), (self._root / path).parent, home, self._before)
            elif folded(f"/{path}").endswith("/.git"):  # the settings may be elsewhere
                folders[(self._root / path).parent] = None
        for folder in folders:
            with suppress(ToolExecutionError):
                place = find_place(folder)
                yield from all_settings_of(place, home, self._before) if place else ()

    def _before(self, file: Path) -> bytes:
        """Return the content of a file that settings include: of one in the project from before, where links from
        before led. Raises ToolExecutionError for one that is too large."""
        place = os.path.normpath(file)
        for _ in range(_MOST_LINKS):
            inside = os.path.relpath(place, self._root) if place.startswith(f"{self._root}/") else ""
            entry = self._entries.get(inside)
            if entry is None or entry.content is None:
                break
            if not stat.S_ISLNK(entry.mode):
                return entry.content
            place = os.path.normpath(os.path.join(os.path.dirname(place), os.fsdecode(entry.content)))  # noqa: PTH118, PTH120
        return whole(Path(place))

    def may_change(self, before: bytes | None, after: bytes | None) -> bool:
        """Return whether `.gitattributes` may change from and to this content, b"" if there is none; None if it is too
        large to be read. Where the user has one filter only, lines that set it may be added, as by a checkout: without
        them the next commit would have a secret in clear."""
        if not self.is_any:
            return True
        if before is None or after is None:
            return False
        old, new = (_lines(content, has_macro=self._has_macro) for content in (before, after))
        return old == new or (not self._has_macro and self._only_name != "" and _only_sets(self._only_name, old, new))

    @property
    def _only_name(self) -> str:
        return next(iter(self._names)) if len(self._names) == 1 else ""

    @cached_property
    def _has_macro(self) -> bool:
        return any(_has_misleading_macro(one.content) for path, one in self._entries.items() if _is_list(path))


def is_closed_attributes(root: Path, path: str) -> bool:
    """Return whether the path is that of a `.gitattributes` that may take a filter off."""
    if not is_attributes(path):
        return False
    folders = [folder for folder in (root / path).parents if folder.is_relative_to(root)]
    return OwnFilters(root, {}, folders).is_any


def _is_filter(setting: Setting) -> bool:
    is_one = setting.section == "filter" and setting.name in ("clean", "process") and bool(setting.value)
    return is_one and folded(setting.subsection) not in _OF_NO_SECRET


def _is_list(path: str) -> bool:
    return is_attributes(path) or f"/{folded(path)}".endswith("/info/attributes")


def _split(content: bytes) -> list[bytes]:
    """Return the lines without the blanks around them, but for those that git passes over for their length. Git drops
    the mark of the byte order at the beginning."""
    lines = content.removeprefix(BOM_UTF8).split(b"\n")
    return [line if len(line) >= _TOO_LONG else line.strip(b" \t\r") for line in lines]


def _lines(content: bytes, *, has_macro: bool) -> list[bytes]:
    """Return the lines that may have to do with filters, in their order, as the last one for a file holds. `has_macro`:
    another file has a macro with the name of a harmless attribute."""
    lines = _split(content)
    has_macro = has_macro or any(line.startswith(b"[") or _MACRO.match(line) for line in lines)
    return [line for line in lines if len(line) >= _TOO_LONG or not _is_harmless(line, has_macro=has_macro)]


def _only_sets(name: str, before: list[bytes], after: list[bytes]) -> bool:
    """Return whether the lines after are those before, in their order, and others that set only the filter `name`."""
    if any(line.startswith((b'"', b"[")) for line in (*before, *after)):
        return False  # there may be a macro with the name of a harmless attribute
    left = iter([*before, None])
    expected = next(left)
    for line in after:
        if line == expected:
            expected = next(left)
        elif not _sets(os.fsencode(name), line):
            return False
    return expected is None


def _sets(name: bytes, line: bytes) -> bool:
    """Return whether a line sets only this filter; or takes one off the `.gitattributes` themselves, which git reads
    without it."""
    if len(line) >= _TOO_LONG:
        return False
    pattern, *attributes = _BLANKS.split(line)
    harmful = [one for one in attributes if not _are_harmless(one)]
    is_set = set(harmful) == {b"filter=" + name}
    return is_set or (pattern == b".gitattributes" and set(harmful) <= {b"!filter", b"-filter"})


def _is_harmless(line: bytes, *, has_macro: bool) -> bool:
    if not line or line.startswith(b"#"):
        return True
    if has_macro or line.startswith((b'"', b"[")):  # a quoted pattern, which no blank has to follow, or a macro
        return False
    return _are_harmless(b"".join(line.split(None, 1)[1:]))


def _are_harmless(attributes: bytes) -> bool:
    return all(map(_HARMLESS.fullmatch, attributes.decode("utf-8", "replace").split()))


def _has_misleading_macro(content: bytes | None) -> bool:
    """Whether a macro for filters has the name of a harmless attribute."""
    for line in _split(content or b""):
        if macro := _MACRO.match(line):
            quoted, name, rest = macro.groups()
            is_misleading = _HARMLESS.fullmatch(name.decode("utf-8", "replace"))
            if quoted or (is_misleading and not _are_harmless(rest)):
                return True
    return False
