"""The LOCALLLM.md that `localllm init` makes, and what it adds to one."""

import shutil
from pathlib import Path

import pytest

from localllm.app.init import Notes, add_notes, analysed, project_notes
from localllm.base.i18n import set_language
from localllm.memory.document import Document
from tests.support import project_trees as trees
from tests.support.project_trees import plant


def test_the_text_in_both_languages(tmp_path: Path) -> None:
    plant(tmp_path, {**trees.RUST, "odd\nname/x.rs": "fn x() {}\n"})
    text = project_notes(tmp_path).text
    assert text.startswith("# Project Memory\n\n## Project DNA\n\n- What it is: <!--")
    assert "\n- Language: Rust (files: 4, " in text
    assert "\n- Tests: `cargo test` (Cargo.toml)\n" in text
    assert "\n- odd␊name/ - Rust, files: 1\n" in text
    set_language("ja")
    try:
        text = project_notes(tmp_path).text
    finally:
        set_language("en")
    for heading in ("プロジェクトDNA", "ディレクトリ構造", "コーディングスタイル", "TODO"):
        assert f"\n## {heading}\n" in text


def test_it_is_read_as_the_memory_it_is(tmp_path: Path) -> None:
    document = Document(project_notes(plant(tmp_path, trees.GO)).text)
    assert list(document.sections) == ["dna", "folders", "style", "todo"]
    assert "Tests: `go test ./...`" in document.body("dna")


def test_links_are_not_followed(tmp_path: Path) -> None:
    plant(tmp_path, {"secret": "test:\n", "project/a.py": ""})
    (tmp_path / "project" / "Makefile").symlink_to(tmp_path / "secret")
    assert "Makefile" not in project_notes(tmp_path / "project").text


def test_it_says_when_it_was_cut(tmp_path: Path) -> None:
    plant(tmp_path, trees.GO)
    assert project_notes(tmp_path).remarks == ()
    assert project_notes(tmp_path, lambda folder: analysed(folder, 0)).remarks[0].startswith("Time ran out after ")


TODO_ONLY = "# Memory\r\n\r\nMy words\r\n\r\n## TODO\r\n\r\n- [ ] one +2026-11-22\r\n\r\n## Mine\r\nlast"


def noted(tmp_path: Path, text: str) -> Path:
    project = plant(tmp_path, trees.FASTAPI)
    (project / ".localllm").mkdir()
    (project / "LOCALLLM.md").write_bytes(text.encode())
    return project


def text_of(project: Path) -> str:
    return (project / "LOCALLLM.md").read_bytes().decode()


def test_a_file_that_only_has_todos_is_given_the_rest_and_keeps_every_byte(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    notes = add_notes(project)
    assert notes == Notes(added=("Project DNA", "Directory structure", "Coding style"))
    before, after = TODO_ONLY.split("## TODO")
    text = text_of(project)
    assert text.startswith(before + "## Project DNA\r\n\r\n")
    assert text.endswith("\r\n\r\n## TODO" + after)
    assert "\n" not in text.replace("\r\n", "")
    assert "- Tests: `python -m pytest`" in text
    assert add_notes(project) == Notes()
    assert text_of(project) == text


def test_only_what_is_missing_is_added_in_the_language_of_the_file(tmp_path: Path) -> None:
    project = noted(
        tmp_path, "# メモ\n\n## プロジェクト概要\n自分の言葉\n\n## やること\n- [予定] 一つ目\n\n## コーディング規約\n"
    )
    assert add_notes(project).added == ("ディレクトリ構造", "コーディングスタイル")
    text = text_of(project)
    assert "## プロジェクト概要\n自分の言葉\n\n## ディレクトリ構造\n\n- .github/" in text
    assert "\n\n## やること\n- [予定] 一つ目\n\n## コーディング規約\n\n- Python: インデントはスペース 4 個" in text
    assert "プロジェクトDNA" not in text


def test_a_refresh_changes_our_lines_and_no_others(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    mine = text_of(project)
    for old, new in (
        ("- What it is: <!-- one line: what this is for, and for whom -->", "- What it is: a shop"),
        ("- Built from: requirements-dev.txt, requirements.txt\r\n", ""),
        (
            "- app/ - source code, Python, files: 2",
            "- app/ - source code, Python, files: 2\r\n  - mine: look here first",
        ),
        ("- tests/ - tests, Python, files: 1", "- tests/ - slow ones, Python, files: 1"),
    ):
        assert old in mine
        mine = mine.replace(old, new)
    (project / "LOCALLLM.md").write_bytes(mine.encode())
    assert add_notes(project) == Notes()
    (project / "app" / "more.py").write_text("import flask\n")
    (project / "docs").mkdir()
    (project / "docs" / "a.md").touch()
    (project / "tests" / "test_more.py").touch()
    notes = add_notes(project, refresh=True)
    assert notes == Notes(refreshed=("Project DNA", "Directory structure"))
    wanted = mine.replace("Python (files: 3, lines: 13)", "Python (files: 5, lines: 14)")
    wanted = wanted.replace("source code, Python, files: 2", "source code, Python, files: 3")
    wanted = wanted.replace("look here first\r\n", "look here first\r\n- docs/ - documentation, files: 1\r\n")
    assert text_of(project) == wanted


def test_a_refresh_takes_out_what_holds_no_longer_and_can_be_undone(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    before = text_of(project)
    shutil.rmtree(project / "tests")
    add_notes(project, refresh=True)
    assert "- tests/" not in text_of(project)
    (project / "LOCALLLM.md").write_bytes(before.encode())
    plant(tmp_path, trees.FASTAPI)
    (project / "app" / "more.py").touch()
    add_notes(project, refresh=True)
    assert text_of(project) == before.replace("files: 3, lines", "files: 4, lines").replace(
        "n, files: 2", "n, files: 3"
    )


def test_what_was_gone_for_a_while_comes_back(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    before = text_of(project)
    shutil.rmtree(project / "tests")
    add_notes(project, refresh=True)
    plant(tmp_path, trees.FASTAPI)
    add_notes(project, refresh=True)
    assert sorted(text_of(project).splitlines()) == sorted(before.splitlines())


def test_a_line_that_holds_no_longer_stays_while_it_carries_a_line_of_the_users(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    ours = "- tests/ - tests, Python, files: 1\r\n"
    mine = text_of(project).replace(ours, ours + "  - slow: run them last\r\n")
    (project / "LOCALLLM.md").write_bytes(mine.encode())
    shutil.rmtree(project / "tests")
    assert add_notes(project, refresh=True).refreshed == ("Project DNA",)
    assert ours + "  - slow: run them last\r\n" in text_of(project)


def test_an_analysis_that_was_cut_short_takes_nothing_out(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    before = text_of(project)
    add_notes(project, refresh=True, analyse=lambda folder: analysed(folder, 0))
    missing = {*before.splitlines()} - {*text_of(project).splitlines()}
    assert all(line.startswith(("- Language: ", "- app/", "- tests/", "- .github/")) for line in missing)
    assert "- Tests: `python -m pytest`" in text_of(project)


def test_what_is_not_known_to_be_ours_is_never_refreshed(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    add_notes(project)
    (project / ".localllm" / "init.json").unlink()
    (project / "app" / "more.py").touch()
    before = text_of(project)
    notes = add_notes(project, refresh=True)
    assert notes.refreshed == ()
    assert "Project DNA, Directory structure, Coding style" in notes.remarks[0]
    assert text_of(project) == before


@pytest.mark.parametrize("text", [b"\xff\xfe\x00 no UTF-8\n", b"words\n\n```\n## TODO\n"])
def test_a_file_that_cannot_be_added_to_stays_and_that_is_said(tmp_path: Path, text: bytes) -> None:
    project = noted(tmp_path, "")
    (project / "LOCALLLM.md").write_bytes(text)
    notes = add_notes(project)
    kept = (project / "LOCALLLM.md").read_bytes()
    assert (kept == text and notes.remarks) or kept.endswith(text[text.index(b"```") :])


def test_a_link_in_place_of_what_we_keep_is_not_written_through(tmp_path: Path) -> None:
    project = noted(tmp_path, TODO_ONLY)
    (tmp_path / "secret").write_text("mine")
    for name in ("init.json", "analysis.msgpack"):
        (project / ".localllm" / name).symlink_to(tmp_path / "secret")
    add_notes(project)
    assert (tmp_path / "secret").read_text() == "mine"
    assert add_notes(project, refresh=True).remarks == ()
