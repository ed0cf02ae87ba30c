"""Read, validate and write config.json; each error names the file, the field and the fix."""

import errno
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.files import atomic_write, atomic_write_at
from localllm.base.i18n import Phrase
from localllm.config.keys import Setting, nearest_key
from localllm.config.reader import read_text
from localllm.config.section import Section
from localllm.config.values import checked, describe, describe_value
from localllm.ensemble.config import AgentConfig, EnsembleConfig, SystemSettings, has_server, usual_address
from localllm.llm.addresses import address_fault, apart_from_password

CONFIG_FILE = "config.json"
"""The default file name, in the folder the server is started in."""

_LONGEST_NAME = 200
_LONGEST_SHOWN = 80  # characters of an invalid value shown in an error
_SHORTEST_WORD = 3  # characters of a partially written key

_SECRETS = frozenset({"apikey", "key", "token", "accesstoken", "authorization", "password", "secret", "bearer"})
"""Keys that hold a secret, in lower case without separators."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_EXAMPLES = {
    "name": '"name": "Worker A"',
    "api_url": '"api_url": "{address}"',
    "model": '"model": "llama3:8b"',
    "reviewer_agent": '"reviewer_agent": {{"name": "Reviewer", "api_url": "{address}", "model": "llama3:70b"}}',
    "worker_agents": '"worker_agents": [{{"name": "Worker A", "api_url": "{address}", "model": "llama3:8b"}}]',
}

Object = dict[str, Json]


def read_config(file: Path) -> EnsembleConfig:
    """Read the configuration in `file`. Raises ConfigurationError."""
    return parse_config(read_config_text(file), file)


def read_config_text(file: Path) -> str:
    """Read the text of `file`. Raises ConfigurationError unless it is a readable UTF-8 file within the size limit."""
    try:
        text = read_text(file)
    except ConfigurationError as error:
        raise ConfigurationError("ensemble_config_unreadable", file=file, reason=error.params["reason"]) from error
    if text is None:
        raise ConfigurationError("ensemble_config_missing", file=file)
    return text


def parse_config(text: str, file: Path) -> EnsembleConfig:
    """Parse the text of the configuration `file`. Raises ConfigurationError at the first error."""
    data = _decoded(text.removeprefix("\ufeff"), file)
    if not isinstance(data, dict):
        raise ConfigurationError(
            "ensemble_config_unreadable",
            file=file,
            reason=Phrase("The file holds {got}, not an object in braces", got=_described(data)),
        )
    _Check(file).whole(cast("Object", data))
    return msgspec.convert(data, EnsembleConfig)


def as_json(config: EnsembleConfig) -> str:
    """Serialise a configuration; defaults are omitted, except those users are likely to change."""
    settings = {"default_timeout": config.system_settings.default_timeout, "strategy": config.system_settings.strategy}
    whole = {
        "reviewer_agent": _set_values(config.reviewer_agent),
        "worker_agents": [_set_values(agent) for agent in config.worker_agents],
        "system_settings": settings | _set_values(config.system_settings),
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def write_config(config: EnsembleConfig, file: Path, *, overwrite: bool) -> None:
    """Write a config.json. Raises ConfigurationError if that fails, the file exists, or it is a link, which may have
    come with a project and lead to any file."""
    try:
        _write(file, as_json(config).encode(), create_only=not overwrite)
    except FileExistsError as error:
        raise ConfigurationError("ensemble_config_exists", file=file) from error
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = Phrase("It is a link to another file") if is_link else os.strerror(error.errno or errno.EIO)
        raise ConfigurationError("ensemble_config_unwritable", file=file, reason=reason) from error


def _write(file: Path, data: bytes, *, create_only: bool) -> None:
    if sys.platform == "win32":
        return atomic_write(file, data, create_only=create_only)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return atomic_write_at(folder, file.name, data, create_only=create_only)
    finally:
        os.close(folder)


def _set_values(section: Section) -> dict[str, Any]:
    """Return the values of a section that differ from their defaults."""
    fields = msgspec.structs.fields(type(section))
    return {each.name: value for each in fields if (value := getattr(section, each.name)) != each.default}


class _RepeatedKeyError(Exception):
    """A duplicate key in the object of these pairs."""

    def __init__(self, key: str, pairs: Sequence[tuple[str, Json]]) -> None:
        super().__init__(key)
        self.key = key
        self.pairs = pairs


def _decoded(text: str, file: Path) -> Json:
    """Parse JSON. Raises ConfigurationError with line and column."""

    def refuse(position: int, reason: Phrase) -> NoReturn:
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
        raise ConfigurationError("ensemble_config_bad_json", file=file, line=line, column=column, reason=reason)

    def no_number(constant: str) -> NoReturn:
        refuse(max(text.find(constant), 0), Phrase("“{text}” is not a JSON number", text=constant))

    try:
        data: Json = json.loads(text, object_pairs_hook=_unique, parse_constant=no_number)
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        refuse(*_fault_at(text, error.pos, in_text="control character" in error.msg))
    except UnicodeEncodeError:
        refuse(max(text.lower().find("\\ud"), 0), Phrase("It holds half of a surrogate pair"))
    except RecursionError:
        refuse(0, Phrase("It is nested too deeply"))
    except ValueError:  # Python parses no number of thousands of digits
        refuse(max(re.search(r"\d{1000}|$", text).start(), 0), Phrase("A number is too long"))  # pyright: ignore[reportOptionalMemberAccess] - $ is always found
    except _RepeatedKeyError as error:
        name = next((value for key, value in error.pairs if key == "name" and isinstance(value, str)), "…")
        raise ConfigurationError(
            "ensemble_config_repeated_key", file=file, key=_shown(error.key), place=_shown(name)
        ) from None
    return data


def _unique(pairs: list[tuple[str, Json]]) -> Object:
    gathered: Object = {}
    for key, value in pairs:
        if key in gathered:
            raise _RepeatedKeyError(key, pairs)
        gathered[key] = value
    return gathered


def _fault_at(text: str, position: int, *, in_text: bool) -> tuple[int, Phrase]:
    """Find where a text stops being JSON, with the reason in plain words. `in_text`: the fault is a character in a
    string."""
    if in_text:
        return position, Phrase("A string continues on the next line, or holds a tab")
    if not text.strip():
        return 0, Phrase("The file is empty")
    position = len(text) - len(text[position:].lstrip())
    before = text[:position].rstrip()
    match text[position : position + 1]:
        case "":
            return position, Phrase("It ends before it is complete: a bracket, a brace or a quote is not closed")
        case "}" | "]" if before.endswith(","):
            return len(before) - 1, Phrase("There is a comma after the last entry")
        case "," if text[position + 1 :].lstrip().startswith(("}", "]")):
            return position, Phrase("There is a comma after the last entry")
        case "'" | "‘" | "’" | "“" | "”":
            return position, Phrase('Strings must be in straight double quotes ("…")')
        case "/" | "#":
            return position, Phrase("JSON has no comments")
        case "\\":
            return position, Phrase("A backslash in a string must be written twice: \\\\")
        case '"' | "{" | "[" if before.endswith(('"', "}", "]")) or before[-1:].isalnum():
            return position, Phrase("There is a comma or a colon missing before it")
        case '"':
            return position, Phrase("A string is not closed")
        case other:
            shown = other if other.isprintable() else "�"
            return position, Phrase("“{text}” is not expected there; a quote or a comma may be missing", text=shown)


class _Check:
    """Validates the content of `file`; raises ConfigurationError."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def whole(self, data: Object) -> None:
        """Validate the whole file."""
        self._keys(data, EnsembleConfig, "")
        self._required(data, "", ("reviewer_agent", "worker_agents"), "ollama")
        self._agent(data["reviewer_agent"], "reviewer_agent")
        workers = data["worker_agents"]
        if not isinstance(workers, list):
            self._wrong("worker_agents", workers, Phrase("a list of workers, in brackets"))
        if not workers:
            self._lacks("worker_agents", "worker_agents", "ollama")
        for index, worker in enumerate(cast("list[Json]", workers)):
            self._agent(worker, f"worker_agents[{index}]")
        self._names(cast("list[Object]", workers))
        if "system_settings" in data:
            self._fields(data["system_settings"], SystemSettings, "system_settings")

    def _agent(self, value: Json, path: str) -> None:
        agent = self._fields(value, AgentConfig, path)
        provider = str(agent.get("provider", "ollama"))
        needed = ("name", "api_url", "model") if has_server(provider) else ("name", "model")
        self._required(agent, f"{path}.", needed, provider)
        self._name(str(agent["name"]), f"{path}.name")
        self._address(str(agent.get("api_url", "")), f"{path}.api_url", provider)
        self._pattern(str(agent.get("when", "")), f"{path}.when")
        variable = str(agent.get("api_key_env", ""))
        if variable and not _VARIABLE.fullmatch(variable):
            raise self._error("ensemble_config_bad_variable", path=f"{path}.api_key_env")

    def _fields(self, value: Json, section: type[Section], path: str) -> Object:
        """Check that `value` is an object and its members have the types of `section`."""
        if not isinstance(value, dict):
            self._wrong(path, value, Phrase("an object, in braces"))
        data = cast("Object", value)
        self._keys(data, section, f"{path}.")
        for field in msgspec.structs.fields(section):
            if field.name not in data:
                continue
            default = None if field.default is msgspec.NODEFAULT else field.default
            key = f"{path}.{field.name}"
            setting = Setting(key=key, annotation=field.type, default=default, section=section)
            if isinstance(data[field.name], dict):
                self._wrong(key, data[field.name], describe(setting))
            checked(setting, data[field.name], self._file)
        return data

    def _keys(self, data: Object, section: type[Section], before: str) -> None:
        """Reject keys that are not the section's, secrets above all."""
        own = [field.name for field in msgspec.structs.fields(section)]
        for key, value in data.items():
            if key in own:
                continue
            path = before + _shown(key)
            if re.sub(r"[^a-z]", "", key.lower()) in _SECRETS:
                if value == "" and key == "api_key":  # an explicit "no key"
                    raise self._error("ensemble_config_unknown_key", path=path, hint=Phrase("Remove it."))
                raise self._error("ensemble_config_secret", path=path)
            raise self._error("ensemble_config_unknown_key", path=path, hint=_hint(key, own))

    def _required(self, data: Object, before: str, keys: Sequence[str], provider: str) -> None:
        for key in keys:
            value = data.get(key)
            if value is None or (isinstance(value, str) and not value.strip()):
                self._lacks(key, before + key, provider)

    def _lacks(self, key: str, path: str, provider: str) -> NoReturn:
        example = _EXAMPLES[key].format(address=usual_address(provider) or "https://NAME.openai.azure.com")
        reason = {
            "worker_agents": Phrase("The ensemble needs one worker or more."),
            "reviewer_agent": Phrase("The ensemble needs a reviewer."),
        }.get(key, Phrase("Each agent needs a name, an api_url and a model."))
        raise self._error("ensemble_config_lacks", path=path, reason=reason, example=example)

    def _name(self, name: str, path: str) -> None:
        if not name.isprintable() or len(name) > _LONGEST_NAME:
            expected = Phrase("a line of at most {count} characters", count=_LONGEST_NAME)
            self._wrong(path, name, expected)

    def _names(self, workers: Sequence[Object]) -> None:
        seen: dict[str, int] = {}
        for index, worker in enumerate(workers):
            name = str(worker["name"]).strip()
            first = seen.setdefault(name, index)
            if first != index:
                path, other = f"worker_agents[{index}].name", f"worker_agents[{first}].name"
                raise self._error("ensemble_config_same_name", path=path, other=other, name=name)

    def _address(self, api_url: str, path: str, provider: str) -> None:
        if not has_server(provider):
            if api_url:
                raise self._error("ensemble_config_needless_address", path=path, provider=provider)
            return
        if apart_from_password(api_url)[1]:
            raise self._error("ensemble_config_secret", path=path)
        complete = AgentConfig(name="", model="", api_url=api_url, provider=provider).base_url
        if fault := address_fault(complete):
            example = usual_address(provider) or "https://NAME.openai.azure.com"
            raise self._error("ensemble_config_bad_address", path=path, reason=fault, example=example)

    def _pattern(self, pattern: str, path: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about constructs that later Python versions may read otherwise
                re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise self._error("ensemble_config_bad_pattern", path=path, reason=_shown(str(error))) from error

    def _wrong(self, path: str, value: Json, expected: Phrase) -> NoReturn:
        got = _described(value)
        raise ConfigurationError(
            "config_wrong_type",
            where=self._file,
            key=path,
            got=got,
            expected=expected,
            hint=Phrase("Correct the value."),
        )

    def _error(self, key: str, **params: object) -> ConfigurationError:
        return ConfigurationError(key, file=self._file, **params)


def _described(value: Json) -> Phrase:
    return Phrase("an object") if isinstance(value, dict) else describe_value(value)


def _hint(key: str, own: Sequence[str]) -> Phrase:
    """Suggest the intended key for an unknown one: one allowed here that contains or resembles it, else one allowed
    elsewhere."""
    word = key[:_LONGEST_SHOWN].lower()
    within = [name for name in own if len(word) >= _SHORTEST_WORD and word in name]
    if near := next(iter(within), "") or nearest_key(word, own) or nearest_key(word, list(_elsewhere())):
        return Phrase("Did you mean “{key}”?", key=near)
    return Phrase("Known there: {keys}.", keys=", ".join(own))


def _elsewhere() -> Iterator[str]:
    sections: tuple[tuple[str, type[Section]], ...] = (
        ("", EnsembleConfig),
        ("system_settings.", SystemSettings),
        ("worker_agents[…].", AgentConfig),
    )
    for before, section in sections:
        yield from (before + field.name for field in msgspec.structs.fields(section))


def _shown(text: str) -> str:
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return "".join(character if character.isprintable() else "�" for character in text)
