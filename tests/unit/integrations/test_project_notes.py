"""The LOCALLLM.md that `localllm init` makes."""

from pathlib import Path

from localllm.base.i18n import set_language
from localllm.integrations.project_notes import project_notes
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
    assert project_notes(tmp_path, seconds=0).remarks[0].startswith("Time ran out after ")
