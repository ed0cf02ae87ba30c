"""What is hidden in a home is left out of what is read as a whole."""

import asyncio
from pathlib import Path

import pytest

from localllm.base.hidden_in_home import HIDDEN_LEFT_OUT, hidden_patterns, is_hidden_in_home, is_in_home
from localllm.rag.document_files import listed_files
from localllm.research.local_documents import LocalDocuments


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "people" / "me"
    for name in (".ssh/id.md", "snap/x/a.md", "Documents/a.md", "Documents/PowerShell/p.md", "projects/.notes/b.md"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("words of a document\n")
    monkeypatch.setenv("HOME", str(home))
    return home


SHOWN = ["Documents/a.md", "projects/.notes/b.md"]


def listed(*roots: Path) -> list[str]:
    return [one.path for one in listed_files(list(roots), lambda _root: ())]


def test_an_ingest_leaves_it_out_unless_its_folder_is_named(home: Path) -> None:
    assert listed(home) == [f"{home}/{name}" for name in SHOWN]
    assert listed(home.parent) == [f"{home}/{name}" for name in SHOWN]
    assert listed(home / ".ssh") == [f"{home}/.ssh/id.md"]
    assert listed(home / "projects") == [f"{home}/projects/.notes/b.md"]


def test_also_where_its_name_has_characters_of_patterns(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = home.rename(home.parent / "me [1]*")
    monkeypatch.setenv("HOME", str(odd))
    assert listed(home.parent) == [f"{odd}/{name}" for name in SHOWN]


def test_also_where_the_home_is_a_repository(home: Path) -> None:
    (home / ".git").mkdir()
    assert listed(home) == [f"{home}/{name}" for name in SHOWN]
    assert listed(home / ".ssh") == [f"{home}/.ssh/id.md"]


def test_research_leaves_it_out_and_says_so(home: Path) -> None:
    documents = LocalDocuments([home])
    found = asyncio.run(documents.search("words", 10))
    assert sorted(str(one.path) for one in found) == [f"{home}/{name}" for name in SHOWN]
    assert [one.text for one in documents.remarks] == [HIDDEN_LEFT_OUT]


def test_patterns_begin_at_the_top(home: Path) -> None:
    assert hidden_patterns(home, home)[0] == "/.*"
    assert hidden_patterns(home.parent, home.parents[1])[0] == "/people/me/.*"
    assert hidden_patterns(home / "projects", home) == ()


def test_names_are_known_in_any_case_and_in_a_home_that_is_the_root(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_hidden_in_home(f"{home}/library/LaunchAgents/a.plist")
    assert not is_hidden_in_home(f"{home}/librarian/a")
    monkeypatch.setenv("HOME", "/")
    assert is_hidden_in_home("/.ssh/id")
    assert is_hidden_in_home("/snap/x")
    assert not is_hidden_in_home("/srv/.x")


def test_no_folder_holds_the_home_of_a_user_who_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")

    def unknown(_user: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    assert not is_in_home(tmp_path)
    assert hidden_patterns(tmp_path, tmp_path) == ()
