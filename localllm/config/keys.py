"""Index all settings by dotted key, from the schema."""

import inspect
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.config.schema import SECRET_VARIABLES, Section, Settings

PREFIX = "LOCALLLM_"

_LONGEST_KEY = 80  # maximum characters of an unknown key that are shown and compared


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting. `annotation` is its type in `section`; a `table` maps names to texts."""

    key: str
    annotation: Any
    default: Json
    section: type[Section]
    table: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.key.upper().replace(".", "_")

    @property
    def secret_variable(self) -> str:
        """The environment variable with the secret; empty if the setting is no secret."""
        return SECRET_VARIABLES.get(self.key, "")


@cache
def all_settings() -> dict[str, Setting]:
    """Return all settings by key, in the order of the schema."""
    return {setting.key: setting for setting in _walk(Settings, ())}


@cache
def all_tables() -> frozenset[str]:
    """Return the dotted names of the tables that contain settings: llm, llm.lmstudio, …"""
    parents = (key.split(".")[:-1] for key in all_settings())
    return frozenset(".".join(path[:length]) for path in parents for length in range(1, len(path) + 1))


def _walk(section: type[Section], path: tuple[str, ...]) -> Iterator[Setting]:
    for field in msgspec.structs.fields(section):
        here = (*path, field.name)
        if isinstance(field.default, Section):
            yield from _walk(type(field.default), here)
        elif field.default is msgspec.NODEFAULT:
            yield Setting(key=".".join(here), annotation=field.type, default={}, section=section, table=True)
        else:
            yield Setting(key=".".join(here), annotation=field.type, default=field.default, section=section)


def meaning(setting: Setting) -> str:
    """Return the entry `name: …` of the section's docstring, or of the one it derives from, up to the next entry."""
    name = setting.key.rpartition(".")[2]
    for section in setting.section.__mro__:
        if found := re.search(rf"^{name}: (.+(?:\n(?!\w+: |$).+)*)", inspect.getdoc(section) or "", re.MULTILINE):
            words = " ".join(found[1].split())
            return words[0].upper() + words[1:]
    return ""


def find_setting(key: str, where: object) -> Setting:
    """Return the setting `key`, or the table entry that it names (`commands.aliases.NAME`).

    `where` (a file and line, a variable, …) is for ConfigurationError config_unknown_key, which has the nearest key.
    """
    if setting := all_settings().get(key):
        return setting
    for setting in all_settings().values():
        if setting.table and key.startswith(f"{setting.key}.") and len(key) > len(setting.key) + 1:
            return Setting(key=key, annotation=str, default="", section=setting.section)
    raise unknown_key(key, where)


def path_of(key: str) -> tuple[str, ...]:
    """Return the path of `key` in a settings file. The name of a table's entry stays whole, even with dots."""
    for setting in all_settings().values():
        if setting.table and key.startswith(f"{setting.key}."):
            return (*setting.key.split("."), key[len(setting.key) + 1 :])
    return tuple(key.split("."))


def unknown_key(key: str, where: object) -> ConfigurationError:
    """Return the error for an unknown key, with the most similar known one."""
    if len(key) > _LONGEST_KEY:
        key = f"{key[:_LONGEST_KEY]}…"
    key = "".join(character if character.isprintable() else "�" for character in key)
    near = nearest_key(key, (*all_settings(), *all_tables()))
    hint = Phrase("Did you mean “{key}”?", key=near) if near else Phrase("“localllm config show” lists them all.")
    return ConfigurationError("config_unknown_key", where=where, key=key, hint=hint)


def nearest_key(key: str, known: Collection[str]) -> str:
    """Return the known key most similar to `key`, or "": same last name, similar spelling, or similar last name."""
    from difflib import SequenceMatcher, get_close_matches

    if key in known:  # a dotted key written in quotes, as one name
        return key
    name = key.rpartition(".")[2]
    namesakes = [other for other in known if other.rpartition(".")[2] == name and other != key]
    if namesakes:
        return max(namesakes, key=lambda other: SequenceMatcher(None, key, other).ratio())
    if alike := get_close_matches(key, known, n=1, cutoff=0.75):
        return alike[0]
    names = {other.rpartition(".")[2]: other for other in known}
    alike = get_close_matches(name, names, n=1, cutoff=0.7)
    return names[alike[0]] if alike else ""
