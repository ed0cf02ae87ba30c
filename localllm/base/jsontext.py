"""JSON text of anything a run may hold, and what was kept read again, whoever has had his hands on it since."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, overload

import msgspec

from localllm.base.lazy_patterns import late_pattern

T = TypeVar("T")
_SURROGATE = late_pattern("[\ud800-\udfff]")


def encode_json(value: Any) -> bytes:
    """`value` as JSON, compact and in UTF-8.

    Halves of surrogate pairs, which file names that are not UTF-8 bring along, have no place in UTF-8: they
    become U+FFFD.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def storable(named: Mapping[str, T]) -> dict[str, T]:
    """Leave out what has a name that has no place in UTF-8, as a file's may have (see `encode_json`)."""
    return {name: value for name, value in named.items() if name.isascii() or not _SURROGATE.search(name)}


def encode_with_list(body: dict[str, Any], name: str, items: Iterable[bytes]) -> bytes:
    """`body`, which is not empty, as JSON, with a last field `name`: a list of values that are JSON already."""
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
    """What the JSON text holds. msgspec.DecodeError (or its ValidationError) where it is no such thing, also where it
    is no text, or nested so deep that msgspec raises something else."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def decode_msgpack(data: bytes, kind: type[T]) -> T:
    """As `decode_json`, of MessagePack."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error
