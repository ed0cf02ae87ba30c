"""What a conversation is told of its project, and what the person is told of that."""

from pathlib import Path

from localllm.agent.system_prompt import Briefing
from localllm.llm.model_profiles import COMPACT, STANDARD
from localllm.memory.project_memory import ProjectMemory

CONFLICT = "<<<<<<< HEAD\n- [ ] a\n=======\n- [ ] b\n>>>>>>> other\n"


def test_a_conflict_in_the_notes_is_said_once_for_each_that_comes_up(tmp_path: Path) -> None:
    file = tmp_path / "LOCALLLM.md"
    file.write_text(f"## TODO\n{CONFLICT}")
    briefing = Briefing(tmp_path, ProjectMemory(tmp_path, "LOCALLLM.md"))
    for text, is_said in ((CONFLICT, True), (f"\n{CONFLICT}", False), ("- [ ] a\n", False), (CONFLICT, True)):
        file.write_text(f"## TODO\n{text}")
        assert " a" in briefing.notes(STANDARD)
        assert ("git conflict from line 2 on" in (said := briefing.take_failure())) == is_said
        assert bool(said) == is_said


def test_recall_is_named_to_those_who_have_it(tmp_path: Path) -> None:
    lines = "".join(f"- 2026-01-01 decision {number} which says how it is done here\n" for number in range(60))
    (tmp_path / "LOCALLLM.md").write_text(f"## Decisions\n{lines}")
    briefing = Briefing(tmp_path, ProjectMemory(tmp_path, "LOCALLLM.md"))
    assert "more: recall finds them)" in briefing.notes(STANDARD)
    assert "more)" in briefing.notes(COMPACT)
