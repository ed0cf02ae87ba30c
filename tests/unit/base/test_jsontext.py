"""What was kept is read again, or is a DecodeError, whatever has become of it."""

import msgspec
import pytest

from localllm.base.jsontext import decode_json, decode_msgpack, encode_json, encode_with_list
from localllm.base.regular_files import clock_time


class _Kept(msgspec.Struct):
    name: str = ""


@pytest.mark.parametrize(
    "data",
    [b'{"name":"\xff"}', '{"name":"\ud800"}', b'{"x":' + b"[" * 100_000, b'{"x":' + b"[" * 100_000 + b"]" * 100_000],
)
def test_what_is_no_json_is_one_kind_of_error(data: bytes | str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_json(data, _Kept)


@pytest.mark.parametrize("items", [[], [1], ["a", {"b": "\ud800"}]])
def test_a_list_of_json_is_encoded_as_its_values_are(items: list[object]) -> None:
    written = encode_with_list({"x": "\ud800"}, "items", map(encode_json, items))
    assert written == encode_json({"x": "\ud800", "items": items})


@pytest.mark.parametrize("data", [b"\x81\xa4name\xa1\xff", b"\x81\xa1x" + b"\x91" * 100_000 + b"\x01"])
def test_what_is_no_messagepack_is_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_msgpack(data, _Kept)


@pytest.mark.parametrize("seconds", [1e300, -1e300, 1e15, 253402300800.0, float("inf")])
def test_a_time_that_no_calendar_has_is_shown_all_the_same(seconds: float) -> None:
    assert clock_time(seconds).year == 1970


def test_a_time_is_that_of_the_clocks_here() -> None:
    assert clock_time(1_800_000_000).timestamp() == 1_800_000_000
