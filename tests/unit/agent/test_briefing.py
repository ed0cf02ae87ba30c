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


def test_what_holds_where_the_user_stands_is_told_too(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "AGENTS.md").write_text("Use tabs everywhere.")
    (tmp_path / "src" / "AGENTS.md").write_text("Name tests after modules.")
    memory = ProjectMemory(tmp_path, "LOCALLLM.md")
    for here, count in ((None, 1), (tmp_path / "src", 2)):
        briefing = Briefing(tmp_path, memory, here)
        assert briefing.instructions == ()
        said = briefing.for_system(STANDARD)
        assert "Use tabs everywhere." in said
        assert ("Name tests after modules." in said) == (count == 2)
        assert len(briefing.instructions) == count
        assert briefing.look(STANDARD) == briefing.instructions


def test_notes_that_cannot_be_read_are_left_out_and_why_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "LOCALLLM.md").mkdir()
    briefing = Briefing(tmp_path, ProjectMemory(tmp_path, "LOCALLLM.md"))
    assert briefing.notes(STANDARD) == ""
    assert "LOCALLLM.md" in briefing.take_failure()
    assert briefing.take_failure() == ""
