"""The copy of our own folder that a command sees: updated, made anew, and never more than it may be."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from localllm.sandbox.protect.own_folder import OwnCopy, OwnFolder

KB = 1_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "p/.localllm/tool-output").mkdir(parents=True)
    (tmp_path / "p/.localllm/.gitignore").write_text("*\n")
    return tmp_path / "p"


@pytest.fixture
def own(root: Path) -> Iterator[OwnFolder]:
    folder = OwnFolder(root)
    yield folder
    folder.close()
    assert list(root.parent.glob("localllm-*")) == []


def put(root: Path, number: int, size: int = KB) -> str:
    name = f"tool-output/grep-{number:016x}.txt"
    file = root / ".localllm" / name
    file.write_bytes(b"x" * size)
    os.utime(file, (number, number))
    return name


def taken(own: OwnFolder) -> OwnCopy:
    copy = own.take()
    assert copy
    return copy


def names(copy: OwnCopy) -> set[str]:
    return {path.relative_to(copy.folder).as_posix() for path in copy.folder.rglob("*") if not path.is_dir()}


def test_what_nobody_has_changed_serves_the_next_with_what_has_come_since(root: Path, own: OwnFolder) -> None:
    first = taken(own)
    own.give_back(first)
    name = put(root, 1)
    second = taken(own)
    assert second is first
    assert names(second) == {".gitignore", name}
    own.give_back(second)


@pytest.mark.parametrize("change", ["write", "delete", "replace", "deep"])
def test_what_a_command_has_changed_serves_nobody_else(root: Path, own: OwnFolder, change: str) -> None:
    name = put(root, 1)
    copy = taken(own)
    file = copy.folder / name
    match change:
        case "write":
            file.write_bytes(b"y" * KB)
            os.utime(file, (1, 1))
        case "delete":
            file.unlink()
        case "replace":
            (copy.folder / ".gitignore").unlink()
            (copy.folder / ".gitignore").symlink_to("/etc/passwd")
        case _:
            folder = os.open(copy.folder, os.O_RDONLY)
            for _ in range(1_200):
                os.mkdir("d", dir_fd=folder)
                inner = os.open("d", os.O_RDONLY, dir_fd=folder)
                os.close(folder)
                folder = inner
            os.close(folder)
    assert (copy.changed() != ()) == (change in ("replace", "deep"))
    own.give_back(copy)
    other = taken(own)
    assert other is not copy
    assert names(other) == {".gitignore", name}
    own.give_back(other)


@pytest.mark.parametrize("change", ["write", "delete", "new"])
def test_what_has_changed_in_the_project_is_copied_anew(root: Path, own: OwnFolder, change: str) -> None:
    commands = root / ".localllm/commands"
    commands.mkdir()
    (commands / "a.md").write_text("a")
    own.give_back(taken(own))
    match change:
        case "write":
            (commands / "a.md").write_text("b")
        case "delete":
            (commands / "a.md").unlink()
        case _:
            (commands / "b.md").write_text("b")
    copy = taken(own)
    there = {path.name: path.read_text() for path in (copy.folder / "commands").iterdir()}
    assert there == {path.name: path.read_text() for path in commands.iterdir()}
    own.give_back(copy)


def test_of_long_output_the_newest_is_there(root: Path, own: OwnFolder) -> None:
    outputs = [put(root, number, 900 * KB) for number in range(1, 20)]
    copy = taken(own)
    assert names(copy) == {".gitignore", *outputs[-4:]}
    own.give_back(copy)
    for number in range(20, 40):
        outputs.append(put(root, number, 900 * KB))
        copy = taken(own)
        assert outputs[-1] in names(copy)
        assert sum(path.stat().st_size for path in copy.folder.rglob("*.txt")) <= 16_000 * KB
        own.give_back(copy)


def test_what_is_too_large_or_a_link_is_not_copied(root: Path, own: OwnFolder) -> None:
    (root / ".localllm/big").write_bytes(b"x" * 9_000 * KB)
    assert own.take() is None
    (root / ".localllm/big").unlink()
    (root / ".localllm").rename(root / "elsewhere")
    assert own.take() is None
    (root / ".localllm").symlink_to("elsewhere")
    assert own.take() is None


def test_nothing_is_left_where_a_command_ends_after_the_program(root: Path, own: OwnFolder) -> None:
    copy = taken(own)
    own.close()
    own.give_back(copy)
    assert list(root.parent.glob("localllm-*")) == []


def test_links_are_copied_and_not_followed(root: Path, own: OwnFolder) -> None:
    (root / "secret").write_text("secret")
    (root / ".localllm/link").symlink_to("../secret")
    (root / ".localllm/folder").symlink_to("..")
    os.mkfifo(root / ".localllm/pipe")
    copy = taken(own)
    assert {path.name: path.is_symlink() for path in copy.folder.iterdir()} == {
        ".gitignore": False,
        "tool-output": False,
        "link": True,
        "folder": True,
    }
    own.give_back(copy)


def test_a_copy_is_like_the_original_and_what_is_written_as_it_was_has_not_changed(root: Path, own: OwnFolder) -> None:
    there = root / ".localllm"
    (there / "notes").write_text("text")
    (there / "notes").chmod(0o640)
    (there / "link").symlink_to("notes")
    copy = taken(own)
    facts, original = (copy.folder / "notes").stat(), (there / "notes").stat()
    assert (facts.st_mode, facts.st_mtime_ns) == (original.st_mode, original.st_mtime_ns)
    assert (copy.is_intact, copy.changed()) == (True, ())
    (copy.folder / "link").unlink()
    (copy.folder / "link").symlink_to("notes")
    (copy.folder / "notes").write_text("text")
    assert (copy.is_intact, copy.changed()) == (False, ())
    (copy.folder / "notes").chmod(0o600)
    (copy.folder / "link").unlink()
    (copy.folder / "link").symlink_to("other")
    (copy.folder / "new").mkdir()
    assert copy.changed() == (".localllm/link", ".localllm/new", ".localllm/notes")
    own.give_back(copy)
