"""Encode any value of a run as JSON, and decode stored data that others may have modified."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, overload

import msgspec

from localllm.base.lazy_patterns import late_pattern

T = TypeVar("T")
_SURROGATE = late_pattern("[\ud800-\udfff]")


def encode_json(value: Any) -> bytes:
    """Encode `value` as compact UTF-8 JSON.

    Lone surrogates, which come from file names that are not UTF-8, are replaced by U+FFFD.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def storable(named: Mapping[str, T]) -> dict[str, T]:
    """Drop entries whose name contains lone surrogates, as a file's may (see `encode_json`)."""
    return {name: value for name, value in named.items() if name.isascii() or not _SURROGATE.search(name)}


def encode_with_list(body: dict[str, Any], name: str, items: Iterable[bytes]) -> bytes:
    """Encode the non-empty `body` with a last field `name`: a list of already encoded values."""
    return b'%b,"%b":[%b]}' % (encode_json(body)[:-1], name.encode("ascii"), b",".join(items))


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case list():
            return [_without_surrogates(item) for item in cast("list[Any]", value)]
        case dict():
            entries = cast("dict[str, Any]", value).items()
            return {_without_surrogates(key): _without_surrogates(item) for key, item in entries}
        case _:
            return value


@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, kind: Any = Any) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, kind: Any = Any) -> Any:
    """Decode a JSON text. Raises msgspec.DecodeError (or its ValidationError) if invalid, also for text that is not
    UTF-8 or is nested too deeply."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def decode_msgpack(data: bytes, kind: type[T]) -> T:
    """Like `decode_json`, for MessagePack."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error
