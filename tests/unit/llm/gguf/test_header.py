"""The header of a GGUF file."""

import struct
from pathlib import Path

import pytest

from localllm.llm.gguf.model_file import Header, NotGgufError, read_header
from tests.support.tiny_gguf import WINDOW, make_tiny_gguf


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf_file(*pairs: bytes, version: int = 3, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs) if count is None else count) + b"".join(pairs)


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


ARCHITECTURE = pair("general.architecture", 8, text("qwen3"))
WINDOW_32K = pair("qwen3.context_length", 4, struct.pack("<I", 32_768))
NUMBERS = pair("general.numbers", 9, struct.pack("<IQ", 6, 1000) + bytes(4000))
WORDS = pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 3) + text("a") + text("bc") + text(""))


def header_of(content: bytes, folder: Path) -> Header:
    file = folder / "m.gguf"
    file.write_bytes(content)
    return read_header(file)


def test_a_real_file(tmp_path: Path) -> None:
    assert read_header(make_tiny_gguf(tmp_path / "m.gguf")) == Header("llama", "tiny", WINDOW)


def test_keys_in_any_order_and_arrays_between_them(tmp_path: Path) -> None:
    assert header_of(gguf_file(WINDOW_32K, NUMBERS, WORDS, ARCHITECTURE), tmp_path) == Header("qwen3", "", 32_768)


def test_what_comes_behind_is_not_read(tmp_path: Path) -> None:
    assert header_of(gguf_file(ARCHITECTURE, WINDOW_32K, b"garbage"), tmp_path).context_length == 32_768


def test_a_file_that_does_not_tell_its_window(tmp_path: Path) -> None:
    assert header_of(gguf_file(ARCHITECTURE, WORDS), tmp_path) == Header("qwen3")


def test_a_window_of_another_architecture_is_not_its_own(tmp_path: Path) -> None:
    clip = pair("clip.context_length", 4, struct.pack("<I", 77))
    assert header_of(gguf_file(clip, ARCHITECTURE), tmp_path) == Header("qwen3")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1", "“version https://git-lfs.”"),
        (b"<!DOCTYPE html>\n<html>", "“<!DOCTYPE html> <html>”"),
        (b"\x89PNG\r\n\x1a\n0000", "89 50 4e 47"),
        (b"GGUF\x03\x00", "in the middle of its header"),
        (gguf_file(version=1), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "another kind of machine"),
        (gguf_file(ARCHITECTURE, count=2), "in the middle of its header"),
        (gguf_file(ARCHITECTURE[:-3], count=1), "in the middle of its header"),
        (gguf_file(ARCHITECTURE, pair("x", 77, b"")), "unknown kind 77"),
        (gguf_file(pair("x", 9, struct.pack("<IQ", 9, 1))), "unknown kind 9"),
        (gguf_file(pair("x", 9, struct.pack("<IQ", 4, 2**63))), "damaged"),
        (gguf_file(struct.pack("<Q", 2**63) + b"x"), "in the middle of its header"),
        (gguf_file(pair("x", 9, struct.pack("<IQ", 8, 2**20))), "in the middle of its header"),
        (gguf_file(pair("x", 9, struct.pack("<IQ", 8, 2**60))), "damaged"),
    ],
)
def test_what_is_no_gguf_file_is_told_as_what_it_is(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(NotGgufError) as caught:
        header_of(content, tmp_path)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "start", [gguf_file(count=2**60), gguf_file(pair("x", 9, struct.pack("<IQ", 8, 2**60)))], ids=["keys", "texts"]
)
def test_a_large_file_of_nothing_is_not_read_through(tmp_path: Path, start: bytes) -> None:
    file = tmp_path / "m.gguf"
    with file.open("wb") as stream:
        stream.write(start)
        stream.truncate(20 << 30)  # all zeros, and none of them on the disk
    with pytest.raises(NotGgufError, match="damaged"):
        read_header(file)


@pytest.mark.parametrize(
    "written", [struct.pack("<Iq", 11, -5), struct.pack("<IQ", 10, 2**63), struct.pack("<I?", 7, True)]
)
def test_a_window_that_cannot_be_is_none(tmp_path: Path, written: bytes) -> None:
    name = b"qwen3.context_length"
    window = struct.pack("<Q", len(name)) + name + written
    assert header_of(gguf_file(ARCHITECTURE, window), tmp_path) == Header("qwen3")
