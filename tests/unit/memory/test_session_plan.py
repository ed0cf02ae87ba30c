"""The model's own plan, and the project's memory as long as nobody has asked for it."""

from datetime import date
from pathlib import Path

from localllm.memory import todos
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.session_plan import SessionPlan


def add(plan: SessionPlan, text: str) -> todos.Todo:
    return plan.edit(lambda document: todos.add(document, text, today=date(2026, 11, 22)))


def test_what_is_open_in_a_plan_is_told_what_was_begun_first() -> None:
    plan = SessionPlan()
    assert (plan.open_todos(), plan.told()) == ((), "")
    first, begun = add(plan, "read it"), add(plan, "[~] " + "fix it " * 30)
    add(plan, "[x] over")
    lines = ["Your plan, as far as it is open:", f"- {begun.id} (in progress) {('fix it ' * 30)[:100]}"]
    assert plan.told().splitlines() == [*lines, f"- {first.id} read it"]
    assert SessionPlan(plan.text).told() == plan.told()
    for number in range(8):
        add(plan, f"more {number}")
    assert len(plan.told().splitlines()) == 11
    add(plan, "one too many")
    assert plan.told().splitlines()[-1] == "(and 1 more)"
    assert len(plan.told().splitlines()) == 12


def test_a_memory_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    memory = ProjectMemory(tmp_path, "NOTES.md", closed=["secrets"])
    assert (memory.is_there, memory.version, memory.digest(1_000), memory.conflict) == (False, (0, 0, 0), "", 0)
    assert ProjectMemory(tmp_path, "a\0b").version == (0, 0, 0)
    file = tmp_path / "NOTES.md"
    file.write_text("## Decisions\n" + "".join(f"- decision {number}\n" for number in range(30)))
    before = memory.version
    assert memory.is_there
    assert "recall finds them" in memory.digest(300)
    assert "recall finds them" not in memory.digest(300, searchable=False)
    assert len(memory.digest(300).encode()) <= 300
    file.write_text("<<<<<<< a\n- b\n=======\n- c\n>>>>>>> d\n")
    assert memory.version != before
    assert memory.conflict == 1
