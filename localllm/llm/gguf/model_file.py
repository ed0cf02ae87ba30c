"""Model files: search for them, read their GGUF header, and detect the CPU features that matter for running them."""

import os
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""struct formats of the value types with a fixed size."""

_LONGEST_TEXT = 65_536
_LONGEST_HEADER = 64 * 1024 * 1024
"""Maximum bytes of a header: the largest vocabularies take a third of it. More would be slow to read."""

_SHORTEST_KEY, _SHORTEST_TEXT = 13, 8
"""Minimum bytes of an entry (key length, value type, value) and of a string (its length)."""

_MOST_TOKENS = 1 << 31
_SHOWN = 24

_Value = int | float | str | None


class NotGgufError(Exception):
    """The file is not a readable GGUF file; the message says what it is instead."""


class Header(msgspec.Struct, frozen=True):
    """The model's metadata. `context_length`: tokens it was trained for, 0 if unknown."""

    architecture: str = ""
    size_label: str = ""
    context_length: int = 0


def read_header(file: Path) -> Header:
    """Read the header of `file`. Raises NotGgufError, OSError."""
    with file.open("rb") as stream:
        count = _begin(stream)
        try:
            return _header(stream, count)
        except struct.error as error:
            raise NotGgufError("it ends in the middle of its header") from error


def _begin(stream: BinaryIO) -> int:
    """Return the number of keys that follow. Raises NotGgufError."""
    start = stream.read(24)
    if start[:4] != _MAGIC:
        raise NotGgufError(f"it begins with {_shown(start)}" if start else "it is empty")
    if len(start) < 24:
        raise NotGgufError("it ends in the middle of its header")
    version, _, count = struct.unpack("<IQQ", start[4:])
    if version not in _VERSIONS:
        raise NotGgufError(f"it is of version {version:,}, or for another kind of machine")
    _check(count * _SHORTEST_KEY)
    return count


def _shown(start: bytes) -> str:
    text = start[:_SHOWN].decode("ascii", errors="replace")
    return f"“{' '.join(text.split())}”" if text.isascii() and any(map(str.isalnum, text)) else start[:4].hex(" ")


def _header(stream: BinaryIO, count: int) -> Header:
    """Read the keys up to the last relevant one; the vocabulary after it is slow to skip."""
    found: dict[str, _Value] = {}
    for _ in range(count):
        _check(stream.tell())
        key = _text(stream)
        value = _value(stream, _number(stream, "<I"))
        if key.startswith("general.") or key.endswith(".context_length"):
            found[key] = value
        if f"{found.get('general.architecture')}.context_length" in found:
            break
    architecture = found.get("general.architecture")
    window = found.get(f"{architecture}.context_length")
    return Header(
        architecture=architecture if isinstance(architecture, str) else "",
        size_label=size if isinstance(size := found.get("general.size_label"), str) else "",
        context_length=window if isinstance(window, int) and 1 < window < _MOST_TOKENS else 0,
    )


def _value(stream: BinaryIO, kind: int) -> _Value:
    """Read a value; arrays are skipped and return None."""
    match kind:
        case _ if kind in _FORMATS:
            return _number(stream, _FORMATS[kind])
        case 8:  # a string
            return _text(stream)
        case 9:  # an array
            _pass_over(stream, _number(stream, "<I"), _number(stream, "<Q"))
            return None
        case _:
            raise NotGgufError(f"its header holds a value of the unknown kind {kind}")


def _pass_over(stream: BinaryIO, kind: int, count: int) -> None:
    match kind:
        case _ if kind in _FORMATS:
            _skip(stream, count * struct.calcsize(_FORMATS[kind]))
        case 8:  # of strings
            _check(count * _SHORTEST_TEXT)
            for _ in range(count):
                _skip(stream, _number(stream, "<Q"))
        case _:
            raise NotGgufError(f"its header holds an array of the unknown kind {kind}")


def _skip(stream: BinaryIO, length: int) -> None:
    _check(length)
    stream.seek(length, 1)


def _check(length: int) -> None:
    if length > _LONGEST_HEADER:
        raise NotGgufError("its header is damaged")


def _number(stream: BinaryIO, form: str) -> int:
    """Read a number. Raises struct.error at the end of the file."""
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]


def _text(stream: BinaryIO) -> str:
    length = _number(stream, "<Q")
    text = stream.read(min(length, _LONGEST_TEXT))
    if len(text) < min(length, _LONGEST_TEXT):
        raise struct.error
    _skip(stream, length - len(text))
    return text.decode("utf-8", errors="replace")


_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def physical_cores() -> int:
    """Return the physical cores available to this process, at least 1: llama.cpp gets slower, not faster, with two
    threads on one core."""
    if sys.platform == "linux":
        return max(1, min(len(_cores(os.sched_getaffinity(0))), _quota()))
    if sys.platform == "darwin":
        return _sysctl("hw.perflevel0.physicalcpu") or _sysctl("hw.physicalcpu") or 1
    return max(1, (os.cpu_count() or 2) // 2)


def lacks_avx2() -> bool:
    """Return whether this is known to be an x86 processor without AVX2, which the prebuilt llama.cpp requires."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    try:
        return " avx2 " not in Path("/proc/cpuinfo").read_text("utf-8").replace("\n", " ")
    except OSError:
        return False


def _cores(cpus: set[int]) -> set[str]:
    """Return an identifier for each core that contains one of these logical processors."""
    return {_siblings(cpu) for cpu in cpus}


def _siblings(cpu: int) -> str:
    try:
        return (_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text("ascii")
    except OSError:
        return str(cpu)


def _quota() -> int:
    """Return the number of processors the container's quota allows (cgroup v2)."""
    try:
        allowed, period = _QUOTA.read_text("ascii").split()
        return max(1, int(allowed) // int(period))
    except (OSError, ValueError):  # no quota, or "max"
        return sys.maxsize


def _sysctl(name: str) -> int:
    done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.stdout.strip().isdigit() else 0


SUFFIX = ".gguf"

_ELSEWHERE = (".lmstudio/models", ".cache/lm-studio/models", ".cache/llama.cpp")
"""Folders below the home folder where LM Studio and llama.cpp store downloaded models."""

_DEPTH = 2
_NAMED = 6


def open_model_file(written: str, root: Path) -> tuple[Path, Header]:
    """Return the model file set as `written`, relative to `root`, and its header.

    Raises ConfigurationError if it is not set, missing, unreadable or of another kind.
    """
    if not written:
        raise ConfigurationError("gguf_not_set", near=near(root))
    file = root / _at_home(written)
    try:
        if not file.is_file():
            raise ConfigurationError("gguf_missing", file=file, near=near(file.parent, root))
        return file.resolve(), read_header(file)
    except NotGgufError as error:
        raise ConfigurationError("gguf_not_gguf", file=file, reason=str(error)) from error
    except OSError as error:
        raise ConfigurationError("gguf_unreadable", file=file, reason=error.strerror or str(error)) from error


def fault_of(file: Path) -> str:
    """Explain what has become wrong with a previously valid model file; empty if nothing has."""
    try:
        if not file.is_file():
            return "there is no such file any more"
        read_header(file)
    except NotGgufError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _at_home(written: str) -> Path:
    """Expand “~” to the home folder; unchanged if that is unknown."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def near(*folders: Path) -> Phrase:
    """Return a sentence listing model files in the folders, their `models` subfolders, and other programs' folders."""
    found = _found([*folders, *(folder / "models" for folder in folders)])
    if not found:
        return Phrase("No model file was found nearby.")
    files = ", ".join(map(str, found[:_NAMED])) + (" …" if len(found) > _NAMED else "")
    return Phrase("Model files found: {files}.", files=files)


def _found(folders: Iterable[Path]) -> list[Path]:
    here = [file for folder in dict.fromkeys(folders) for file in _in(folder, depth=0)]
    elsewhere = [file for name in _ELSEWHERE for file in _in(Path.home() / name, depth=_DEPTH)]
    return list(dict.fromkeys([*here, *elsewhere]))


def _in(folder: Path, depth: int) -> list[Path]:
    """Return the model files in a folder and its subfolders down to `depth`."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    files = [entry for entry in entries if entry.suffix.lower() == SUFFIX and entry.is_file()]
    below = [entry for entry in entries if entry.is_dir()] if depth else []
    return [*files, *(file for entry in below for file in _in(entry, depth - 1))]
