"""Names that a file system takes for others: in other letters, and the short ones of Windows."""

import os
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from localllm.base.errors import SafetyViolationError
from localllm.config.schema import SafetySettings
from localllm.safety.folder_entries import as_listed
from localllm.safety.paths import ProjectRoot
from localllm.safety.rules import closed_to_reading


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on a file system like those of Windows."""
    for path in (".vscode/tasks.json", "secrets/key.txt", "plain~1", "Case/file", "がく/file", "é/file"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("mine")
    monkeypatch.setattr(os, "lstat", _folding(os.lstat))
    return tmp_path


def _folding(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def found(path: str, **options: object) -> os.stat_result:
        folder, _, name = path.replace("VSCODE~1", ".vscode").rpartition("/")
        same: list[str] = []
        with suppress(OSError):
            same += [one.name for one in Path(folder).iterdir() if _folded(one.name) == _folded(name)]
        return look(f"{folder}/{same[0] if same else name}", **options)

    return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ("VSCODE~1/tasks.json", ".vscode/tasks.json"),
        (".VSCode/Tasks.JSON", ".vscode/tasks.json"),
        ("SECRETS/KEY.txt", "secrets/key.txt"),
        ("Secrets/New.txt", "secrets/New.txt"),
        ("Case/file", "Case/file"),
        ("plain~1", "plain~1"),
        ("new~1/x", "new~1/x"),
        ("か\u3099く/file", "がく/file"),
        ("がく/file", "がく/file"),
        ("É/file", "é/file"),
    ],
)
def test_a_path_is_spelled_as_the_folder_lists_it(project: Path, given: str, listed: str) -> None:
    assert as_listed(str(project), given) == listed
    assert ProjectRoot(project).relative(given) == listed


def test_a_protected_file_is_known_by_its_short_name(project: Path) -> None:
    with pytest.raises(SafetyViolationError, match="protected"):
        ProjectRoot(project).write_bytes("VSCODE~1/tasks.json", b"{}")


def test_hard_links_of_other_letters_are_two_files(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "A").hardlink_to(tmp_path / "a")
    assert (as_listed(str(tmp_path), "a"), as_listed(str(tmp_path), "A")) == ("a", "A")


def test_a_folder_of_japanese_names_is_not_listed_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("日本語.md", "データ~.txt", "café.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(os, "listdir", lambda _folder: pytest.fail("listed"))
    for name in ("日本語.md", "データ~.txt", "café.py", "無い.md"):
        assert as_listed(str(tmp_path), name) == name


class TestComposedNames:
    """A name stored in two characters for each が, as by a Mac, and asked for in one."""

    MAC = unicodedata.normalize("NFD", "ドキュメント/ガイド.md")

    @pytest.fixture
    def root(self, tmp_path: Path) -> ProjectRoot:
        (tmp_path / self.MAC).parent.mkdir()
        (tmp_path / self.MAC).write_text("mine")
        return ProjectRoot(tmp_path)

    def test_the_file_that_is_there_is_meant(self, root: ProjectRoot) -> None:
        assert root.relative("ドキュメント/ガイド.md") == self.MAC
        root.write_bytes("ドキュメント/ガイド.md", b"new", over=b"mine")
        assert [file.name for file in (root.path / self.MAC).parent.iterdir()] == [self.MAC.split("/")[1]]

    def test_a_new_file_is_created_in_the_folder_that_is_there(self, root: ProjectRoot) -> None:
        root.write_bytes("ドキュメント/が.md", b"new")
        assert [entry.name for entry in root.path.iterdir()] == [self.MAC.split("/")[0]]

    def test_of_two_such_names_neither_is_meant(self, tmp_path: Path) -> None:
        for name in ("ギ\u0323", unicodedata.normalize("NFD", "ギ") + "\u0323x", "e\u0301\u0323", "e\u0323\u0301"):
            (tmp_path / name).write_text("")
        assert ProjectRoot(tmp_path).relative("\u1eb9\u0301") == "\u1eb9\u0301"

    def test_a_link_of_such_a_name_must_not_lead_out(self, tmp_path: Path) -> None:
        project = tmp_path / "project"
        project.mkdir()
        (tmp_path / "out.md").write_text("not mine")
        (project / unicodedata.normalize("NFD", "ガ.md")).symlink_to(tmp_path / "out.md")
        with pytest.raises(SafetyViolationError) as refused:
            ProjectRoot(project).read_bytes("ガ.md", 100)
        assert refused.value.key == "path_outside"

    def test_a_rule_closes_it_by_either_name(self, root: ProjectRoot) -> None:
        rules = SafetySettings(deny=("read_file(ドキュメント/ガイド.md)",))
        assert self.MAC in closed_to_reading(rules, root.relative)
