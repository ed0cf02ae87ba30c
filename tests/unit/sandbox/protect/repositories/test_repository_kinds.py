"""What may be in the data of a repository, and how far it is looked at."""

from pathlib import Path

import pytest

from localllm.sandbox.protect.repositories.repository_kinds import Data, RepositoryKinds


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A repository with a file that git-annex has, and one linked elsewhere that it is going to write."""
    data = tmp_path / ".git"
    honest, other = (data / "annex/objects" / name for name in ("5z/vv/SHA256E-s1--a", "Qx/9f/SHA256E-s1--b"))
    honest.mkdir(parents=True)
    (honest / honest.name).write_text("a")
    other.parent.mkdir(parents=True)
    other.symlink_to(tmp_path / "home")
    return data


def found(data: Path, most: int = 100, *, is_for_git: bool = False) -> tuple[list[str], bool]:
    look = RepositoryKinds(is_for_git=is_for_git).look([Data(str(data))], most)
    return [Path(entry.path).name for entry in look.strange], look.is_complete


def test_a_link_among_the_objects_of_git_annex_is_found(data: Path) -> None:
    assert found(data) == (["SHA256E-s1--b"], True)


def test_what_git_never_reads_is_nothing_to_git(data: Path) -> None:
    assert found(data, most=3, is_for_git=True) == ([], True)


def test_the_objects_of_git_annex_come_last(data: Path) -> None:
    module = data / "modules/group/lib"
    (module / "objects").mkdir(parents=True)
    (module / "refs").symlink_to(data)
    strange, is_complete = found(data, most=8)
    assert "refs" in strange
    assert not is_complete
