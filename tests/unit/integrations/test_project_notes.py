"""What a quick look at a folder tells."""

import json
from pathlib import Path

import pytest

from localllm.base.i18n import set_language
from localllm.integrations.project_notes import project_notes, survey


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_a_python_project(tmp_path: Path) -> None:
    make(tmp_path, "pyproject.toml", "src/a.py", "src/b.py", "src/native/c.c", "tests/test_a.py", ".github/x.yml")
    found = survey(tmp_path)
    assert found.languages == {"Python": 3, "C": 1}
    assert found.folders == {"src": 3, "tests": 1}
    assert found.manifests == ("pyproject.toml",)
    assert found.test_command == "python -m pytest"


def test_what_git_ignores_does_not_count(tmp_path: Path) -> None:
    make(tmp_path, "a.go", "vendor/b.rb", "node_modules/c.js")
    (tmp_path / ".gitignore").write_text("vendor/\n")
    assert survey(tmp_path).languages == {"Go": 1}


@pytest.mark.parametrize(
    ("script", "command"),
    [("vitest", "npm test"), ('echo "Error: no test specified" && exit 1', ""), (None, "")],
)
def test_npm(tmp_path: Path, script: str | None, command: str) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": script} if script else {}}))
    assert survey(tmp_path).test_command == command


@pytest.mark.parametrize(("text", "command"), [("test: build\n", "make test"), ("tests:\n", ""), ("", "")])
def test_make(tmp_path: Path, text: str, command: str) -> None:
    (tmp_path / "Makefile").write_text(text)
    assert survey(tmp_path).test_command == command


@pytest.mark.parametrize("text", ["", "[]", "{", '{"scripts": []}', "\xff"])
def test_a_broken_manifest_is_no_failure(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text, encoding="latin-1")
    assert survey(tmp_path).test_command == ""


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("test:\n")
    (tmp_path / "project" / "Makefile").symlink_to(tmp_path / "secret")
    assert survey(tmp_path / "project").manifests == ()


def test_the_text_in_both_languages(tmp_path: Path) -> None:
    make(tmp_path, "Cargo.toml", "src/main.rs", "odd\nname/x.rs")
    assert project_notes(tmp_path).startswith("# Project Memory\n\n## Project DNA\n\n- Language: Rust (2)\n")
    assert "- Tests: `cargo test`" in project_notes(tmp_path)
    assert "- odd␊name/ - files: 1\n" in project_notes(tmp_path)
    set_language("ja")
    try:
        text = project_notes(tmp_path)
    finally:
        set_language("en")
    for heading in ("プロジェクトDNA", "ディレクトリ構造", "コーディングスタイル", "TODO"):
        assert f"\n## {heading}\n" in text
