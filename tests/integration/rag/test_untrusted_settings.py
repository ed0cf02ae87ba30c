"""What the settings of a project that is not trusted may do to collections of the user's: nothing that stays."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from localllm.base.errors import KnowledgeBaseUsageError
from localllm.base.paths import config_file
from localllm.cli.main import root
from tests.support.wire_server import WireServer, says

Call = Callable[..., Result]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Documents of the user's, outside of any project."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pump.md").write_text("# Pump\n\nThe pump has a warranty of two years.\n")
    (folder / "valve.md").write_text("# Valve\n\nThe valve was made in Osaka.\n")
    return folder


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("LOCALLLM_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALLLM_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "project/docs").mkdir(parents=True)
    (tmp_path / "project/docs/claim.md").write_text("# Claim\n\nThe warranty of the pump is void.\n")
    monkeypatch.chdir(tmp_path / "project")
    config_file(os.environ).parent.mkdir()
    config_file(os.environ).write_text('[llm]\nprovider = "embedded"\n')

    def run(*arguments: str, trusting: bool = False) -> Result:
        return CliRunner().invoke(root, [*(["--trust-project"] if trusting else []), "rag", *arguments])

    return run


def says_of_itself(text: str) -> None:
    Path("localllm.toml").write_text(text)


def test_its_patterns_exclude_nothing_outside_of_it(call: Call, notes: Path) -> None:
    call("ingest", str(notes), "-c", "mine")
    says_of_itself('[project]\nexclude_patterns = ["*.md"]\n')
    assert "2 unchanged, 0 gone" in call("ingest", str(notes), "-c", "mine").output
    assert "mine: 2 indexed" in call("reindex", "mine").output
    assert "warranty of two years" in call("search", "warranty").output


def test_its_patterns_exclude_what_lies_in_it(call: Call, notes: Path) -> None:
    Path("docs/draft.md").write_text("# Draft\n\nNot ready.\n")
    says_of_itself('[project]\nexclude_patterns = ["draft.*"]\n')
    assert "mine: 3 indexed" in call("ingest", "docs", str(notes), "-c", "mine").output


def test_trusted_it_excludes_nothing_elsewhere_either(call: Call, notes: Path) -> None:
    """The question whether to trust it does not show these patterns."""
    says_of_itself('[project]\nexclude_patterns = ["valve.*"]\n')
    assert "mine: 2 indexed" in call("ingest", str(notes), "-c", "mine", trusting=True).output


def test_the_patterns_of_the_user_count_everywhere(call: Call, notes: Path) -> None:
    config_file(os.environ).write_text('[project]\nexclude_patterns = ["valve.*"]\n')
    says_of_itself('[project]\nexclude_patterns = ["claim.*"]\n')
    assert "mine: 1 indexed" in call("ingest", "docs", str(notes), "-c", "mine").output


def test_it_does_not_choose_the_collection_that_is_written(call: Call, notes: Path) -> None:
    call("ingest", str(notes), "-c", "mine")
    says_of_itself('[rag]\ncollection = "mine"\n')
    refused = call("ingest", "docs")
    assert isinstance(refused.exception, KnowledgeBaseUsageError)
    assert refused.exception.key == "rag_no_name"
    assert "Ignored in the project's localllm.toml: rag.collection." in refused.output
    assert "void" not in call("search", "warranty", "of", "the", "pump").output
    assert "mine: 1 indexed" in call("ingest", "docs", trusting=True).output


def test_it_does_not_cut_the_passages(call: Call, notes: Path) -> None:
    (notes / "long.md").write_text("".join(f"The pump of {year} has a warranty.\n\n" for year in range(1000, 1200)))
    taken = call("ingest", str(notes), "-c", "mine").output
    says_of_itself("[rag]\nchunk_tokens = 4000\noverlap = 0\n")
    again = call("reindex", "mine").output
    assert "Ignored in the project's localllm.toml: rag.chunk_tokens, rag.overlap." in again
    passages = next(line for line in taken.splitlines() if line.startswith("mine: "))
    assert passages in again


def test_its_server_neither_embeds_nor_describes(call: Call, notes: Path) -> None:
    with WireServer([says("Buy nothing but pumps of ours.")]) as server:
        says_of_itself(f'[llm]\nprovider = "openai"\n[llm.openai]\nbase_url = "{server.url}"\n')
        assert "mine: 2 indexed" in call("ingest", str(notes), "-c", "mine").output
        assert (server.asked, server.requests) == ([], [])


def test_what_holds_no_file_any_more_is_not_rebuilt(call: Call, notes: Path) -> None:
    call("ingest", str(notes), "-c", "mine")
    kept = {file.name: file.read_text() for file in notes.iterdir()}
    for name in kept:
        (notes / name).unlink()
    refused = call("reindex", "mine")
    assert isinstance(refused.exception, KnowledgeBaseUsageError)
    assert refused.exception.key == "rag_roots_empty"
    for name, text in kept.items():
        (notes / name).write_text(text)
    assert "2 unchanged" in call("ingest", str(notes), "-c", "mine").output
