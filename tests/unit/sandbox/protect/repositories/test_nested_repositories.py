"""What is known of the repositories around new ones, at a cost that is bounded."""

import subprocess
from pathlib import Path

import pytest

from localllm.sandbox.protect.repositories import nested_repositories
from localllm.sandbox.protect.repositories.nested_repositories import AroundRepositories

FAR = b'[remote "origin"]\n\turl = https://host.example/x.git\n'


@pytest.fixture
def innermost(tmp_path: Path) -> Path:
    """The innermost of seven repositories, each in the one before."""
    folder = tmp_path
    for number in range(7):
        subprocess.run(["git", "init", "-q", folder], check=True)
        (folder / "src").mkdir()
        (folder / "src/a").write_text(f"{number}\n")
        subprocess.run(["git", "add", "src"], cwd=folder, check=True)
        folder /= "inner"
    return folder.parent


def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The indexes that are read from now on."""
    found, content_of = list[Path](), nested_repositories.content_of

    def note(path: Path, most: int) -> bytes:
        found.append(path)
        return content_of(path, most)

    monkeypatch.setattr(nested_repositories, "content_of", note)
    return found


def test_each_index_is_read_once_in_a_look(innermost: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    indexes, around = read(monkeypatch), AroundRepositories()
    assert not any(around.diverts_pushes(innermost / f"new/{number}", FAR) for number in range(9))
    assert around.diverts_pushes(innermost / "src", FAR)
    assert len(indexes) == len(set(indexes)) >= 7


@pytest.mark.parametrize(("most", "number"), [("MOST_BYTES", 200), ("_MOST_SECONDS", 0.0)])
def test_what_is_too_much_may_list_anything(
    innermost: Path, monkeypatch: pytest.MonkeyPatch, most: str, number: float
) -> None:
    monkeypatch.setattr(nested_repositories, most, number)
    indexes, around = read(monkeypatch), AroundRepositories()
    assert around.diverts_pushes(innermost / "new", FAR)
    assert not around.diverts_pushes(innermost / "new", FAR.replace(b"https://host.example", b"..")), "a local one"
    assert len(indexes) < 7
