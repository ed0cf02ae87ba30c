"""What a document names and the project does not have is found."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.named_in_documents import is_about_project, unknown_names
from localllm.base.directory_walk import ProjectListing
from tests.support.each import each

CASES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("named_in_documents.toml").read_text())


def project(folder: Path, files: dict[str, str]) -> ProjectListing:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return ProjectListing(folder)


@pytest.fixture
def listing(tmp_path: Path) -> ProjectListing:
    return project(tmp_path, CASES["files"])


def found(listing: ProjectListing, case: dict[str, Any]) -> list[str]:
    def read(path: str) -> str | None:
        return (listing.root / path).read_text()

    return unknown_names(case.get("path", "README.md"), case["text"], listing, read)


@each("case", CASES["false"], ids=lambda case: str(case["missing"]))
def test_what_is_not_there_is_named(listing: ProjectListing, case: dict[str, Any]) -> None:
    assert found(listing, case) == case["missing"]


@each("case", CASES["true"], ids=lambda case: case["text"])
def test_nothing_is_said_of_what_is_there_or_is_to_be_made(listing: ProjectListing, case: dict[str, Any]) -> None:
    assert found(listing, case) == []


@each(("name", "case"), [(name, case) for name in ("other", "third") for case in CASES[f"true_of_{name}"]])
def test_nothing_is_said_of_other_projects(tmp_path: Path, name: str, case: dict[str, Any]) -> None:
    assert found(project(tmp_path / name, CASES[name]), case) == []


@each(
    ("path", "request", "is_so"),
    [
        ("README.md", "Write a README.md for this project from the code", True),
        ("README.ja.md", "このプロジェクトの README を書いて", True),
        ("docs/usage.md", "Document how to use it in docs/usage.md", True),
        ("docs/guide.md", "コードを読んで docs/guide.md に使い方をまとめて", True),
        ("README.md", "Create a Flask app with a README", False),
        ("README.md", "Add a script that exports customers, and document it in README.md", False),
        ("README.md", "CSV に書き出すスクリプトを作って README にも書いて", False),
        ("docs/plan.md", "Write a plan for the migration into docs/plan.md", False),
        ("README.md", "README のテンプレートを書いて", False),
        ("notes.md", "Write the README ideas into notes.md", False),
        ("README.md", "Translate the README into English", False),
        ("app.py", "Document app.py", False),
    ],
)
def test_documents_of_what_is_there(path: str, request: str, is_so: bool) -> None:
    assert is_about_project(path, request) is is_so
