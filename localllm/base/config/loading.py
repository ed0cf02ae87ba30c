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
from localllm.base.config.trusted import Answers, digest_of
from localllm.base.config.values import checked, parse_value
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.base.paths import SETTINGS_FILE, config_file

RESERVED_VARIABLES = frozenset(
    {
        "LOCALLLM_CONFIG_DIR",
        "LOCALLLM_STATE_DIR",
        "LOCALLLM_DATA_DIR",
        "LOCALLLM_CACHE_DIR",
        "LOCALLLM_ALSO_LOOK_AT",  # see llm.candidates
    }
)
"""Variables of ours that are no settings."""


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a project that is not trusted, where it says more than it may.

    `digest` is that of exactly the text that was read. `values`: what would change if it were believed, by key; also
    lists of which a part is in force. `answer`: False where the user has refused to believe this content, None where
    he was not asked yet.
    """

    file: Path
    digest: str
    values: dict[str, Json]
    answer: bool | None = None


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, and how they came about.

    `origins`: for each key that is not left at its default (one for each alias), who set it. `withheld`: keys of the
    project's file that do nothing until it is trusted; where there are any, `held_back` tells about them. `files`: the
    files that were read. `remarks` are the warnings, not yet in a language.
    """

    settings: Settings
    origins: dict[str, Origin] = {}
    withheld: tuple[str, ...] = ()
    held_back: HeldBack | None = None
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
    believed: str = "",
) -> Loaded:
    """The settings for the project at `project_root`.

    `overrides` are dotted keys from the command line. The project's own file may only set what `trust.admitted` lets
    through, unless it is `trusted`, or its content has the digest `believed`, or the user has once answered that he
    believes this content. Raises ConfigurationError (E1001 to E1005) for the first thing that is wrong.
    """
    stack = _Stack()
    files: dict[Layer, Path] = {}
    user, project = config_file(environ), project_root / SETTINGS_FILE
    if (text := read_text(user)) is not None:
        files["user"] = user
        for key, value, origin in file_values(text, user, "user"):
            stack.put(key, value, origin)
    reading = _ProjectFile(project_root, Answers.of_user(environ), trusted=trusted, believed=believed)
    if not _same(user, project) and (text := read_text(project)) is not None:
        files["project"] = project
        reading.put(text, stack)
    remarks = _add_environment(stack, environ)
    _add_overrides(stack, overrides or {})
    return Loaded(
        settings=stack.settings(),
        origins=stack.origins,
        withheld=reading.withheld(stack),
        held_back=reading.held_back(stack),
        remarks=(*reading.remarks, *remarks),
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


class _ProjectFile:
    """The project's own file, and what of it is held back. The user's answers are looked up only if they matter."""

    def __init__(self, root: Path, answers: Answers, *, trusted: bool, believed: str) -> None:
        self.remarks: tuple[Phrase, ...] = ()
        self._root = root
        self._answers = answers
        self._trusted = trusted
        self._believed = believed
        self._digest = ""
        self._answer: bool | None = None
        self._refused: dict[str, Json] = {}
        self._changed: dict[str, Json] = {}

    def put(self, text: str, stack: _Stack) -> None:
        """Put what the file says and may say on the stack."""
        written = list(file_values(text, self._root / SETTINGS_FILE, "project"))
        accepted = {key: admitted(key, value, stack.effective(key), self._root) for key, value, _ in written}
        changed = {key: value for key, value, _ in written if accepted[key] != value}
        if changed and not self._is_believed(text):
            self._changed = changed
            self._refused = {key: value for key, value in changed.items() if accepted[key] is None}
        for key, value, origin in written:
            if key not in self._refused:
                stack.put(key, accepted[key] if key in self._changed else value, origin)

    def withheld(self, stack: _Stack) -> tuple[str, ...]:
        """The keys that were refused, but for those that another layer has set to the same."""
        return tuple(key for key, value in self._refused.items() if value != stack.effective(key))

    def held_back(self, stack: _Stack) -> HeldBack | None:
        """What the user may want to decide about, where something is withheld."""
        if not self.withheld(stack):
            return None
        values = {key: value for key, value in self._changed.items() if value != stack.effective(key)}
        return HeldBack(file=self._root / SETTINGS_FILE, digest=self._digest, values=values, answer=self._answer)

    def _is_believed(self, text: str) -> bool:
        self._digest = digest_of(text)
        if self._trusted or self._digest == self._believed:
            return True
        self._answer, fault = self._answers.recall(self._root, self._digest)
        self.remarks = (fault,) if fault else ()
        return self._answer is True


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
