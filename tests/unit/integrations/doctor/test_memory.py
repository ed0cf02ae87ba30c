"""What is told of the project: LOCALLLM.md and AGENTS.md."""

from pathlib import Path

import pytest

from localllm.config.loader import Loaded
from localllm.config.schema import ProjectSettings, Settings
from localllm.integrations.doctor.project import instructions, memory
from localllm.llm.model_profiles import COMPACT, STANDARD
from tests.support.doctor_world import surroundings

CONFLICT = "# Notes\n\n<<<<<<< HEAD\n- [ ] ours\n=======\n- [ ] theirs\n>>>>>>> topic\n"


def test_without_a_memory_nothing_is_said_of_one(tmp_path: Path) -> None:
    assert list(memory(surroundings(tmp_path))) == []


@pytest.mark.parametrize(
    ("content", "status", "what", "fix"),
    [
        (b"## TODO\n- [ ] Ship it\n", "ok", "can be used", ""),
        (b"## TODO\n=======\ntext\n", "ok", "can be used", ""),
        ("メモ".encode("shift_jis"), "problem", "not UTF-8", "Save it as UTF-8"),
        (b"x" * 4_000_001, "problem", "larger than 4 MB", "Shorten it"),
        (CONFLICT.encode(), "warning", "(line 3)", "git add LOCALLLM.md"),
        (CONFLICT.replace("\n", "\r\n").encode(), "warning", "(line 3)", "git add LOCALLLM.md"),
    ],
)
def test_a_memory_that_cannot_be_used_is_found(
    tmp_path: Path, content: bytes, status: str, what: str, fix: str
) -> None:
    here = surroundings(tmp_path)
    (here.project / "LOCALLLM.md").write_bytes(content)
    (finding,) = memory(here)
    assert finding.status == status
    assert what in finding.what
    assert fix in finding.fix


def test_a_name_that_a_shell_would_run_is_quoted_in_the_fix(tmp_path: Path) -> None:
    name = "notes$(touch x).md"
    here = surroundings(tmp_path, loaded=Loaded(settings=Settings(project=ProjectSettings(memory_file=name))))
    (here.project / name).write_text(CONFLICT)
    (finding,) = memory(here)
    assert f"git add '{name}'" in finding.fix


def test_a_folder_in_the_place_of_the_memory_is_found(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    (here.project / "LOCALLLM.md").mkdir()
    (finding,) = memory(here)
    assert finding.status == "problem"
    assert "Move the folder away" in finding.fix


def test_instructions_that_are_cut_are_found_as_the_model_would_be_told_them(tmp_path: Path) -> None:
    here = surroundings(tmp_path)
    (here.project / "AGENTS.md").write_text("Use tabs.\n" * 300)
    assert list(instructions(here, STANDARD)) == []
    (finding,) = instructions(here, COMPACT)
    assert "2,999 characters" in finding.what
    assert "2,000 characters" in finding.fix
