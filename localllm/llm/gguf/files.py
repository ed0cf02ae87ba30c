"""Finding the model file that is set, and saying what is wrong where it is none."""

from collections.abc import Iterable
from pathlib import Path

from localllm.base.errors import ConfigurationError
from localllm.base.i18n import Phrase
from localllm.llm.gguf.header import Header, NotGgufError, read_header

SUFFIX = ".gguf"

_ELSEWHERE = (".lmstudio/models", ".cache/lm-studio/models", ".cache/llama.cpp")
"""Below the home folder: where LM Studio and llama.cpp keep what they have fetched."""

_DEPTH = 2
_NAMED = 6


def open_model_file(written: str, root: Path) -> tuple[Path, Header]:
    """The model file that is set as `written`, relative to `root`, and its header.

    Raises ConfigurationError: none is set, it is not there, it cannot be read, it is something else.
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
    """What is wrong by now with a file that was a model when it was chosen; empty where nothing is."""
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
    """With the home folder for “~”; as it is where nobody knows whose that would be."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def near(*folders: Path) -> Phrase:
    """A sentence with the model files in the folders, in `models` below them, and where other programs keep theirs."""
    found = _found([*folders, *(folder / "models" for folder in folders)])
    if not found:
        return Phrase("gguf.none_near")
    files = ", ".join(map(str, found[:_NAMED])) + (" …" if len(found) > _NAMED else "")
    return Phrase("gguf.near", files=files)


def _found(folders: Iterable[Path]) -> list[Path]:
    here = [file for folder in dict.fromkeys(folders) for file in _in(folder, depth=0)]
    elsewhere = [file for name in _ELSEWHERE for file in _in(Path.home() / name, depth=_DEPTH)]
    return list(dict.fromkeys([*here, *elsewhere]))


def _in(folder: Path, depth: int) -> list[Path]:
    """The model files in a folder, and in those below it as far down as `depth`."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    files = [entry for entry in entries if entry.suffix.lower() == SUFFIX and entry.is_file()]
    below = [entry for entry in entries if entry.is_dir()] if depth else []
    return [*files, *(file for entry in below for file in _in(entry, depth - 1))]
