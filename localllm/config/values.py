"""Validate the values of settings, and build the errors for invalid ones."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast, get_args

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.events import Json
from localllm.base.i18n import N_, Phrase
from localllm.config.keys import Setting, find_setting
from localllm.config.schema import SECRET_VARIABLES


def checked(setting: Setting, value: Json, where: object, *, strict: bool = True) -> Json:
    """Return `value` as the setting's type. With `strict` off, text is parsed as a number or truth value.

    ConfigurationError: config_wrong_type; config_secret_in_file for a secret that is not empty and for a password in an
    address. Errors never contain a secret's value.
    """
    if setting.secret_variable and value != "":
        raise _secret(setting, where, setting.secret_variable)
    try:
        converted = msgspec.convert(value, setting.annotation, strict=strict)
    except msgspec.ValidationError as error:
        raise wrong_type(setting, value, where) from error
    if isinstance(converted, float) and not math.isfinite(converted):
        raise wrong_type(setting, value, where)
    if (names := _registered(setting)) and not {*_as_list(converted)} <= {*names}:
        raise wrong_type(setting, value, where)
    if _is_address(setting) and _names_password(str(converted)):
        raise _secret(setting, where, _key_variable(setting))
    return converted


def _secret(setting: Setting, where: object, variable: str) -> ConfigurationError:
    return ConfigurationError("config_secret_in_file", where=where, key=setting.key, variable=variable)


def _is_address(setting: Setting) -> bool:
    return setting.key.endswith((".base_url", ".endpoint", ".cache"))


def _names_password(address: str) -> bool:
    """Return whether the host is preceded by a user name with a password (`user:password@`)."""
    without_scheme = re.sub(r"^\s*(\w+:)?[/\\]+", "", address)
    authority = re.split(r"[/\\?#]", without_scheme, maxsplit=1)[0]
    user, at, _ = authority.rpartition("@")
    return bool(at) and ":" in user


def _key_variable(setting: Setting) -> str:
    """Return the variable for the key of the server, or the password of the cache, with this address."""
    own = f"{setting.key}_password"
    return SECRET_VARIABLES[own if own in SECRET_VARIABLES else f"{setting.key.rpartition('.')[0]}.api_key"]


def wrong_type(setting: Setting, value: Json, where: object) -> ConfigurationError:
    """Return the error for a value of the wrong type or range."""
    got, expected, near = describe_value(value), describe(setting), ""
    if expected.text == "a list of strings" and isinstance(value, list):
        got = Phrase("a list that holds something other than strings")
    if expected.text == "one of {values}" and isinstance(value, str) and len(value) <= _QUOTABLE:
        got, near = Phrase("the string “{value}”", value=value), _nearest(value, _choices(setting))
    if expected.text == "a list of any of {values}" and isinstance(value, list):
        items = cast("list[Json]", value)
        other = next(item for item in items if item not in _choices(setting))
        got = Phrase("a list with “{value}” in it", value=str(other)[:_QUOTABLE])
    hint = Phrase("Did you mean “{near}”?", near=near) if near else Phrase("Correct the value.")
    return ConfigurationError("config_wrong_type", where=where, key=setting.key, got=got, expected=expected, hint=hint)


def _nearest(value: str, choices: Sequence[str]) -> str:
    """Return the choice that a value was probably meant to be; empty if none."""
    from difflib import get_close_matches  # only needed for an error

    return next(iter(get_close_matches(value.casefold(), choices, 1, cutoff=0.7)), "")


_QUOTABLE = 40  # maximum characters of a mistaken choice repeated to the user


def describe_value(value: Json) -> Phrase:
    """Describe the type of a value in plain words. Texts are not repeated: they may be confidential."""
    match value:
        case bool():
            return Phrase("{value}", value="true" if value else "false")
        case int() | float():
            return Phrase("{value}", value=str(value)[:_QUOTABLE])
        case str():
            return Phrase("a string")
        case list() | tuple():
            return Phrase("a list")
        case dict():
            return Phrase("a table")
        case None:
            return Phrase("null")
        case _:
            return Phrase("a date or time")


def describe(setting: Setting) -> Phrase:
    """Describe the valid values of a setting in plain words."""
    import msgspec.inspect as shapes

    if names := _registered(setting):
        is_list = isinstance(setting.default, tuple)
        return Phrase(N_("a list of any of {values}") if is_list else N_("one of {values}"), values=_quoted(names))
    match _without_none(shapes.type_info(setting.annotation)):
        case shapes.BoolType():
            return Phrase("true or false")
        case shapes.LiteralType():
            return Phrase("one of {values}", values=_quoted(_choices(setting)))
        case shapes.VarTupleType(item_type=shapes.LiteralType()):
            return Phrase("a list of any of {values}", values=_quoted(_choices(setting)))
        case shapes.VarTupleType(item_type=shapes.StructType()):
            return Phrase(
                "tables [[{key}]] with tool, decision (allow, ask or deny) and, optionally, prefix, match, not_match",
                key=setting.key,
            )
        case shapes.VarTupleType():
            return Phrase("a list of strings")
        case shapes.DictType():
            return Phrase("a table of names and strings; one of them is {key}.NAME", key=setting.key)
        case shapes.IntType() as whole:
            return _describe_range(Phrase("a whole number"), whole)
        case shapes.FloatType() as number:
            return _describe_range(Phrase("a number"), number)
        case _:
            return Phrase("a string")


def _without_none(shape: Any) -> Any:
    """Return the type without None."""
    import msgspec.inspect as shapes

    if not isinstance(shape, shapes.UnionType):
        return shape
    return next(each for each in shape.types if not isinstance(each, shapes.NoneType))


def words_of(setting: Setting) -> tuple[str, ...]:
    """Return the words a setting, or each item of a list, can be; empty for numbers and other texts."""
    if setting.annotation is bool:
        return ("true", "false")
    parts: Any = _choices(setting)  # of other types, what limits them
    return tuple(word for word in parts if isinstance(word, str))


def _choices(setting: Setting) -> tuple[str, ...]:
    """Return the valid words of a setting, or of each item of a list, in the order of the schema."""
    return _registered(setting) or get_args(_item_type(setting))


def _item_type(setting: Setting) -> Any:
    return get_args(setting.annotation)[0] if isinstance(setting.default, tuple) else setting.annotation


def _registered(setting: Setting) -> tuple[str, ...]:
    """Return the names a setting, or each item of a list, is chosen from in a registry. None for any other."""
    marks = getattr(_item_type(setting), "__metadata__", ())
    extras = (mark.extra for mark in marks if isinstance(mark, msgspec.Meta) and mark.extra)
    extra = next(extras, dict[str, Any]())
    names: list[str] = [*extra.get("also", ()), *extra.get("registry", ())]
    return tuple(names)


def _as_list(value: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"“{word}”" for word in words)


def _describe_range(kind: Phrase, shape: Any) -> Phrase:
    match shape.gt, shape.ge, shape.le:
        case None, None, None:
            return kind
        case least, None, None:
            return Phrase("{kind} above {least}", kind=kind, least=least)
        case None, least, None:
            return Phrase("{kind}, {least} or more", kind=kind, least=least)
        case _, least, most:
            return Phrase("{kind} from {least} to {most}", kind=kind, least=least, most=most)


def parse_value(key: str, text: str, where: object) -> Json:
    """Parse the value of the setting `key` as typed: `true`, `8192`, `[a, b]` or `a,b`, any text as is.

    A list may also be written as TOML, which items with a comma in them need. ConfigurationError as `checked`.
    """
    setting = find_setting(key, where)
    if setting.table:
        raise wrong_type(setting, text, where)
    if setting.annotation is str:
        return checked(setting, text, where)
    value = _items(text) if isinstance(setting.default, tuple) else _number(text.strip())
    return checked(setting, value, where, strict=False)


def _number(text: str) -> Json:
    """Return the text as a number, unchanged if it is none."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _items(text: str) -> list[Json]:
    import tomllib

    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        try:
            return tomllib.loads(f"items = {stripped}")["items"]
        except ValueError:  # not TOML: words without quotes
            stripped = stripped[1:-1]
    return [item.strip() for item in stripped.split(",") if item.strip()]
