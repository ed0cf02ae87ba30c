"""Judge changes of `.gitattributes` where a filter of the user's encrypts files as they are committed (git-crypt).

A line in one of these files takes the filter off: the next commit of a secret, and the push, have it in clear.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from localllm.base.errors import ToolExecutionError
from localllm.base.folded_names import folded
from localllm.sandbox.dotfiles import git_settings_of_user
from localllm.sandbox.git_config import Setting, parse
from localllm.sandbox.protect.protected_paths import Entry, is_attributes, is_git_settings
from localllm.sandbox.protect.repository import find_place, settings_of

_OF_NO_SECRET = frozenset({"lfs"})
"""Filters that take files out of the repository only because these are large."""

_HARMLESS = re.compile(
    r"[-!]?(?:text|crlf|diff|merge|binary|whitespace|export-ignore|export-subst|ident|conflict-marker-size"
    r"|(?:linguist|gitlab)-[\w-]+)(?:=\S*)?|eol=\S*"
)
"""Attributes that have nothing to do with filters. Others may be macros that set one."""


_TOO_LONG = 2_048
"""Bytes of a line that git passes over (attr.h)."""


class OwnFilters:
    """The filters by which the settings of the user and of the project's repositories change what is committed."""

    def __init__(self, root: Path, entries: Mapping[str, Entry]) -> None:
        """`entries`: those at protected names, among them the settings of repositories."""
        self._root = root
        self._entries = entries
        self._is_any: bool | None = None

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        if self._is_any is None:
            self._is_any = any(map(_is_filter, self._settings()))
        return self._is_any

    def _settings(self) -> Iterable[Setting]:
        yield from git_settings_of_user(os.environ)
        for path, entry in self._entries.items():
            if entry.content and is_git_settings(path):
                yield from parse(entry.content)
        try:
            place = find_place(self._root)
        except ToolExecutionError:
            return
        yield from settings_of(place) if place else ()

    def may_change(self, before: bytes | None, after: bytes | None) -> bool:
        """Return whether `.gitattributes` may change from and to this content, b"" if there is none; None if it is too
        large to be read."""
        if before is None or after is None:
            return not self.is_any
        return _lines(before) == _lines(after) or not self.is_any


def is_closed_attributes(root: Path, path: str) -> bool:
    """Return whether the path is that of a `.gitattributes` that may take a filter off."""
    return is_attributes(path) and OwnFilters(root, {}).is_any


def _is_filter(setting: Setting) -> bool:
    is_one = setting.section == "filter" and setting.name in ("clean", "process") and bool(setting.value)
    return is_one and folded(setting.subsection) not in _OF_NO_SECRET


def _lines(content: bytes) -> list[bytes]:
    """Return the lines that may have to do with filters, in their order, as the last one for a file holds: without the
    blanks around them, but for those that git passes over for their length."""
    lines = [line if len(line) >= _TOO_LONG else line.strip(b" \t\r") for line in content.split(b"\n")]
    has_macro = any(line.startswith(b"[") for line in lines)  # which may have the name of a harmless attribute
    return [line for line in lines if len(line) >= _TOO_LONG or not _is_harmless(line, has_macro=has_macro)]


def _is_harmless(line: bytes, *, has_macro: bool) -> bool:
    if not line or line.startswith(b"#"):
        return True
    if has_macro:
        return False
    text = line.decode("utf-8", "replace")
    if text.startswith(('"', "[")):
        return False  # a quoted pattern, or a macro
    return all(_HARMLESS.fullmatch(one) for one in text.split()[1:])
