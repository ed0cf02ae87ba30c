"""The model file that is set."""

import os
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.llm.gguf.model_file import fault_of as fault_by_now
from localllm.llm.gguf.model_file import open_model_file
from tests.support.tiny_gguf import WINDOW, make_tiny_gguf


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of one's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (folder := tmp_path / "project").mkdir()
    return folder


def fault_of(written: str, root: Path) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        open_model_file(written, root)
    return caught.value


def test_a_file_is_relative_to_the_project_or_to_the_home_folder(root: Path, home: Path) -> None:
    home.mkdir()
    make_tiny_gguf(root / "m.gguf")
    (home / "n.gguf").symlink_to(root / "m.gguf")
    for written in ("m.gguf", str(root / "m.gguf"), "~/n.gguf"):
        file, header = open_model_file(written, root)
        assert file == root / "m.gguf"
        assert header.context_length == WINDOW


def test_one_that_is_missing_names_those_that_are_there(root: Path, home: Path) -> None:
    for place in (root / "a.gguf", root / "models" / "b.GGUF", home / ".lmstudio" / "models" / "p" / "r" / "c.gguf"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    (root / "notes.txt").touch()
    error = fault_of("missing.gguf", root)
    assert error.key == "gguf_missing"
    assert str(root / "missing.gguf") in error.what
    assert all(name in error.why for name in ("a.gguf", "b.GGUF", "c.gguf"))
    assert "notes.txt" not in error.why


def test_where_there_are_none_it_says_where_to_look(root: Path) -> None:
    error = fault_of("gone/missing.gguf", root)
    assert "No model file was found nearby" in error.why
    assert "model hubs" in error.fix


def test_none_is_set(root: Path) -> None:
    assert fault_of("", root).key == "gguf_not_set"


def test_a_folder_is_no_file(root: Path) -> None:
    assert fault_of(".", root).key == "gguf_missing"


def test_a_text_file_with_the_right_name(root: Path) -> None:
    (root / "m.gguf").write_text("hello")
    error = fault_of("m.gguf", root)
    assert error.key == "gguf_not_gguf"
    assert "“hello”" in error.why


def test_a_device_is_not_read(root: Path) -> None:
    os.mkfifo(root / "m.gguf")
    assert fault_of("m.gguf", root).key == "gguf_missing"


@pytest.mark.parametrize(
    ("written", "key"), [("a" * 300, "gguf_unreadable"), ("~nobody-of-that-name/m", "gguf_missing")]
)
def test_a_name_that_cannot_be_one_is_no_crash(root: Path, written: str, key: str) -> None:
    assert fault_of(f"{written}.gguf", root).key == key


def test_what_has_become_of_a_file_meanwhile(root: Path) -> None:
    file = make_tiny_gguf(root / "m.gguf")
    assert fault_by_now(file) == ""
    file.write_bytes(b"<html>")
    assert "<html>" in fault_by_now(file)
    file.unlink()
    os.mkfifo(file)  # whoever opens it waits
    assert "no such file" in fault_by_now(file)
