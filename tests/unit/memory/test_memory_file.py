"""LOCALLLM.md on the disk: links, modes, editors that save at the same moment, and what is no usable file."""

import errno
import os
import stat
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError, LocalLLMError, SafetyViolationError
from localllm.memory import memory_file, todos
from localllm.memory.document import Document
from localllm.memory.memory_file import LARGEST, MemoryFile
from localllm.memory.todos import Todo

TODAY = date(2026, 11, 22)


def adding(text: str) -> Callable[[Document], tuple[Document, Todo]]:
    return lambda document: todos.add(document, text, today=TODAY)


def texts(file: MemoryFile) -> list[str]:
    return [todo.text for todo in todos.todos(file.read())]


def test_it_is_made_where_it_is_missing(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path, "docs/notes/MEMORY.md")
    assert file.read().text == ""
    assert file.edit(lambda document: (document, 7)) == 7
    assert not list(tmp_path.rglob("*.md"))
    file.edit(adding("a"))
    assert texts(file) == ["a"]
    assert [path.name for path in (tmp_path / "docs" / "notes").iterdir()] == ["MEMORY.md"]


def test_what_does_not_change_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "LOCALLLM.md"
    path.write_bytes(b"## TODO\n- a\n")
    before = path.stat()
    MemoryFile(tmp_path).edit(adding("a"))
    assert path.stat().st_ino == before.st_ino


def test_a_failed_change_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "LOCALLLM.md"
    path.write_bytes(b"a\r")
    with pytest.raises(LocalLLMError):
        MemoryFile(tmp_path).edit(adding(""))
    assert path.read_bytes() == b"a\r"


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    real = tmp_path / "docs" / "real.md"
    real.parent.mkdir()
    real.write_bytes(b"text\n")
    real.chmod(0o640)
    (tmp_path / "LOCALLLM.md").symlink_to("docs/real.md")
    file = MemoryFile(tmp_path)
    file.edit(adding("a"))
    assert (tmp_path / "LOCALLLM.md").readlink() == Path("docs/real.md")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert texts(file) == ["a"]


def test_a_link_may_lead_to_any_markdown(tmp_path: Path) -> None:
    (tmp_path / "NOTES.MD").write_text("text\n")
    (tmp_path / "LOCALLLM.md").symlink_to("NOTES.MD")
    assert MemoryFile(tmp_path).read().text == "text\n"


def test_a_link_to_nothing_is_followed(tmp_path: Path) -> None:
    (tmp_path / "LOCALLLM.md").symlink_to("later/NOTES.md")
    MemoryFile(tmp_path).edit(adding("a"))
    assert (tmp_path / "later" / "NOTES.md").read_text().endswith("- [ ] a +2026-11-22\n")
    assert (tmp_path / "LOCALLLM.md").is_symlink()


@pytest.mark.parametrize("where", ["link", "folder", "name", "absolute"])
def test_nothing_outside_the_project_is_touched(tmp_path: Path, where: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "LOCALLLM.md").write_text("theirs\n")
    name = {"name": "../outside/LOCALLLM.md", "absolute": str(outside / "LOCALLLM.md"), "folder": "in/LOCALLLM.md"}
    if where == "link":
        (project / "LOCALLLM.md").symlink_to(outside / "LOCALLLM.md")
    if where == "folder":
        (project / "in").symlink_to(outside)
    file = MemoryFile(project, name.get(where, "LOCALLLM.md"))
    for act in (file.read, lambda: file.edit(adding("a"))):
        with pytest.raises(LocalLLMError) as error:
            act()
        assert error.value.key == "path_outside"
    assert (outside / "LOCALLLM.md").read_text() == "theirs\n"


def refused(file: MemoryFile) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as read:
        file.read()
    with pytest.raises(ConfigurationError) as edited:
        file.edit(adding("a"))
    assert read.value.key == edited.value.key
    return edited.value


@pytest.mark.parametrize(
    "data", [b"\xff\xfe#\0", "## TODO\n- 予定\n".encode("cp932"), b"ok\n\xc3\x28\n", b"\xed\xa0\x80"]
)
def test_no_utf8_is_said_and_nothing_lost(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "LOCALLLM.md"
    path.write_bytes(data)
    error = refused(MemoryFile(tmp_path))
    assert error.key == "memory_unusable"
    assert "UTF-8" in str(error)
    assert ("Line 2 (byte 4 " if data.startswith(b"ok") else "Line ") in str(error)
    assert path.read_bytes() == data


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "LOCALLLM.md").open("wb") as stream:
        stream.truncate(LARGEST + 1)
    assert refused(MemoryFile(tmp_path)).key == "memory_unusable"


def test_a_file_as_large_as_may_be_is_read_and_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_file, "LARGEST", 100)
    path = tmp_path / "LOCALLLM.md"
    path.write_bytes(b"a" * 100)
    file = MemoryFile(tmp_path)
    assert len(file.read().text) == 100
    with pytest.raises(ConfigurationError) as grown:
        file.edit(lambda document: (Document(document.text + "a"), None))
    assert grown.value.key == "memory_unusable"
    assert path.stat().st_size == 100


@pytest.mark.parametrize(
    ("make", "key", "words"),
    [
        (os.mkdir, "memory_unusable", "There is a folder"),
        (os.mkfifo, "memory_unusable", "It is a pipe"),
        (lambda path: Path(path).symlink_to("LOCALLLM.md"), "memory_unreachable", ""),
    ],
)
def test_what_is_no_file_is_refused(tmp_path: Path, make: Callable[[Path], None], key: str, words: str) -> None:
    make(tmp_path / "LOCALLLM.md")
    lowest = os.dup(0)
    os.close(lowest)
    error = refused(MemoryFile(tmp_path))
    assert (error.key, words in str(error)) == (key, True)
    assert os.dup(0) == lowest  # nothing was left open
    os.close(lowest)


@pytest.mark.parametrize(("can_write", "key"), [(True, "memory_unreachable"), (False, "memory_read_only")])
def test_a_project_that_takes_nothing_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_write: bool, key: str
) -> None:
    def fail(document: Document) -> tuple[Document, None]:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK or can_write)
    with pytest.raises(ConfigurationError) as raised:
        MemoryFile(tmp_path).edit(fail)
    assert raised.value.key == key


@pytest.mark.parametrize(("patience", "text"), [(60.0, "## TODO\n- [ ] a\n"), (0.0, "## TO")])
def test_a_file_that_is_being_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float, text: str
) -> None:
    path = tmp_path / "LOCALLLM.md"
    monkeypatch.setattr(memory_file, "_QUIET", 60.0)
    monkeypatch.setattr(memory_file, "_LONGEST_SETTLING", patience)
    monkeypatch.setattr(time, "sleep", lambda _: path.write_text("## TODO\n- [ ] a\n"))
    path.write_text("## TO")
    assert MemoryFile(tmp_path).read().text == text


def test_a_name_with_a_nul_is_refused(tmp_path: Path) -> None:
    assert refused(MemoryFile(tmp_path, "a\0.md")).key == "memory_unreachable"


@pytest.mark.parametrize("way", ["in place", "renamed", "appended"])
def test_what_an_editor_saves_meanwhile_is_kept(tmp_path: Path, way: str) -> None:
    path = tmp_path / "LOCALLLM.md"
    path.write_bytes(b"## TODO\n- [ ] a\n")
    saved = b"## TODO\n- [ ] a\n- [ ] by hand\n"
    calls: list[str] = []

    def change(document: Document) -> tuple[Document, Todo]:
        calls.append(document.text)
        if len(calls) == 1:
            match way:
                case "in place":
                    path.write_bytes(saved)
                case "appended":
                    with path.open("ab") as stream:
                        stream.write(b"- [ ] by hand\n")
                case _:
                    (tmp_path / "new").write_bytes(saved)
                    (tmp_path / "new").replace(path)
        return todos.add(document, "ours", today=TODAY)

    file = MemoryFile(tmp_path)
    file.edit(change)
    assert texts(file) == ["a", "by hand", "ours"]
    assert len(calls) == 2


def test_a_file_that_comes_or_goes_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "LOCALLLM.md"
    steps = [lambda: path.write_bytes(b"## TODO\n- [ ] a\n"), path.unlink, lambda: None]

    def change(document: Document) -> tuple[Document, Todo]:
        steps.pop(0)()
        return todos.add(document, "ours", today=TODAY)

    file = MemoryFile(tmp_path)
    file.edit(change)
    assert texts(file) == ["ours"]
    assert not steps


def test_an_editor_that_never_stops_is_given_up_on(tmp_path: Path) -> None:
    path = tmp_path / "LOCALLLM.md"
    counter = iter(range(1000))

    def change(document: Document) -> tuple[Document, Todo]:
        path.write_text(f"again {next(counter)}\n")
        return todos.add(document, "ours", today=TODAY)

    with pytest.raises(ConfigurationError) as error:
        MemoryFile(tmp_path).edit(change)
    assert error.value.key == "memory_busy"
    assert path.read_text() == "again 49\n"


def test_leftovers_of_killed_programs_go(tmp_path: Path) -> None:
    old, young = tmp_path / ".localllm-0a.tmp", tmp_path / ".localllm-0b.tmp"
    for leftover in (old, young):
        leftover.write_bytes(b"half")
    os.utime(old, (0, 0))
    MemoryFile(tmp_path).edit(adding("a"))
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("target", [".env", ".git/config", "src/main.py"])
def test_a_link_to_what_is_no_markdown_is_not_followed(tmp_path: Path, target: str) -> None:
    there = tmp_path / target
    there.parent.mkdir(exist_ok=True)
    there.write_text("TOKEN=1\n")
    (tmp_path / "LOCALLLM.md").symlink_to(target)
    assert refused(MemoryFile(tmp_path)).key == "memory_unusable"
    assert there.read_text() == "TOKEN=1\n"


@pytest.mark.parametrize("target", ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"])
def test_nothing_is_written_into_a_text_that_assistants_obey(tmp_path: Path, target: str) -> None:
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (tmp_path / target).write_text("# Rules\n")
    (tmp_path / "LOCALLLM.md").symlink_to(target)
    file = MemoryFile(tmp_path)
    assert file.read().text == "# Rules\n"
    with pytest.raises(ConfigurationError) as raised:
        file.edit(lambda document: (Document(document.text + "- x\n"), None))
    assert raised.value.key == "memory_unusable"
    assert (tmp_path / target).read_text() == "# Rules\n"


def test_nothing_is_written_through_a_link_into_what_is_protected(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "LOCALLLM.md").symlink_to(".git/hooks/notes.md")
    with pytest.raises(LocalLLMError) as error:
        MemoryFile(tmp_path).edit(adding("a"))
    assert error.value.key == "path_protected"
    assert not list((tmp_path / ".git" / "hooks").iterdir())


def test_a_link_to_what_a_rule_closes_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "s.md").write_text("denied\n")
    (tmp_path / "LOCALLLM.md").symlink_to("secrets/s.md")
    assert MemoryFile(tmp_path).read().text == "denied\n"
    with pytest.raises(ConfigurationError) as caught:
        MemoryFile(tmp_path, closed=["secrets"]).read()
    assert caught.value.key == "memory_unreachable"


def test_what_a_rule_closes_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "pass.md").write_text("denied\n")
    file = MemoryFile(tmp_path, "private/pass.md", closed=["private"])
    for use in (file.read, lambda: file.edit(adding("a"))):
        with pytest.raises(ConfigurationError) as caught:
            use()
        assert caught.value.key == "memory_unreachable"
    assert (tmp_path / "private" / "pass.md").read_text() == "denied\n"


def test_a_link_in_the_place_of_the_project_is_not_followed(tmp_path: Path) -> None:
    root, other = tmp_path / "project", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
        (folder / "LOCALLLM.md").write_text("# Notes\n")
    root.rename(tmp_path / "moved")
    root.symlink_to(other)
    file = MemoryFile(root)
    with pytest.raises(SafetyViolationError):
        file.read()
    with pytest.raises(SafetyViolationError):
        file.edit(lambda _: (Document("mine"), None))
    assert (other / "LOCALLLM.md").read_text() == "# Notes\n"
