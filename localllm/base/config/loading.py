"""The settings as they hold now: defaults < the user's file < the project's file < environment < command line."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from localllm.base.config.keys import PREFIX, all_settings, find_setting, nearest_key, path_of
from localllm.base.config.reading import Layer, Origin, file_values, read_text
from localllm.base.config.schema import SECRET_VARIABLES, Settings
from localllm.base.config.trust import admitted
from localllm.base.config.values import checked, parse_value
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.paths import SETTINGS_FILE, config_file

RESERVED_VARIABLES = frozenset({"LOCALLLM_CONFIG_DIR", "LOCALLLM_STATE_DIR", "LOCALLLM_DATA_DIR", "LOCALLLM_CACHE_DIR"})
"""Variables of ours that are no settings."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, and how they came about.

    `origins`: for each key that is not left at its default (one for each alias), who set it. `withheld`: keys of the
    project's file that do nothing until it is trusted. `files`: the files that were read. `remarks` are the warnings,
    not yet in a language.
    """

    settings: Settings
    origins: dict[str, Origin] = {}
    withheld: tuple[str, ...] = ()
    remarks: tuple[Phrase, ...] = ()
    files: dict[Layer, Path] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know and is no error, in the current language."""
        return tuple(str(remark) for remark in self.remarks)


def load(
    project_root: Path,
    *,
    environ: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    trusted: bool = False,
) -> Loaded:
    """The settings for the project at `project_root`.

    `overrides` are dotted keys from the command line. Unless `trusted`, the project's own file may only set what
    `trust.admitted` lets through. Raises ConfigurationError (E1001 to E1005) for the first thing that is wrong.
    """
    stack = _Stack()
    files: dict[Layer, Path] = {}
    user, project = config_file(environ), project_root / SETTINGS_FILE
    if (text := read_text(user)) is not None:
        files["user"] = user
        for key, value, origin in file_values(text, user, "user"):
            stack.put(key, value, origin)
    held_back: dict[str, Json] = {}
    if not _same(user, project) and (text := read_text(project)) is not None:
        files["project"] = project
        for key, value, origin in file_values(text, project, "project"):
            accepted = value if trusted else admitted(key, value, stack.effective(key), project_root)
            if accepted is None:
                held_back[key] = value
            else:
                stack.put(key, accepted, origin)
    remarks = _add_environment(stack, environ)
    _add_overrides(stack, overrides or {})
    return Loaded(
        settings=stack.settings(),
        origins=stack.origins,
        withheld=tuple(key for key, value in held_back.items() if value != stack.effective(key)),
        remarks=remarks,
        files=files,
    )


def secret(key: str, environ: Mapping[str, str]) -> str:
    """The secret that belongs to the setting `key` (such as llm.openai.api_key), from its variable; "" if not set."""
    return environ.get(SECRET_VARIABLES[key], "").strip()


class _Stack:
    """The values of the layers read so far, the later over the earlier."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.origins: dict[str, Origin] = {}

    def put(self, key: str, value: Json, origin: Origin) -> None:
        self.values[key] = value
        self.origins[key] = origin

    def effective(self, key: str) -> Json:
        return self.values[key] if key in self.values else find_setting(key, "").default

    def settings(self) -> Settings:
        tree: dict[str, Any] = {}
        for key, value in self.values.items():
            *path, name = path_of(key)
            table = tree
            for part in path:
                table = table.setdefault(part, {})
            table[name] = value
        return msgspec.convert(tree, Settings)


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _add_environment(stack: _Stack, environ: Mapping[str, str]) -> tuple[Phrase, ...]:
    """Put the settings among the variables on the stack; remarks on those of ours that are none. Empty is not set."""
    named = {
        name: value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in RESERVED_VARIABLES and value
    }
    if not named:
        return ()
    known = {setting.variable: setting for setting in all_settings().values() if not setting.table}
    remarks: list[Phrase] = []
    for name, text in named.items():
        setting = known.get(name)
        if setting is None:
            near = nearest_key(name, known)
            remarks.append(Phrase("settings.unknown_variable", name=name, hint=_did_you_mean(near)))
        elif setting.secret_variable:
            remarks.append(Phrase("settings.secret_elsewhere", name=name, variable=setting.secret_variable))
        else:
            value = parse_value(setting.key, text, name)
            stack.put(setting.key, value, Origin("environment", name))
    return tuple(remarks)


def _did_you_mean(near: str) -> object:
    return Phrase("settings.nearest", key=near) if near else ""


def _add_overrides(stack: _Stack, overrides: Mapping[str, Json]) -> None:
    where = Phrase("settings.command_line")
    for key, value in overrides.items():
        setting = find_setting(key, where)
        parsed = parse_value(key, value, where) if isinstance(value, str) else checked(setting, value, where)
        stack.put(key, parsed, Origin("command line", "command line"))
