"""The model's plan: in the session and its log, not in the project, unless the project keeps such a list."""

from pathlib import Path

import pytest

from localllm.sessions.entries import Planned
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import Nobody, app_over, played, state
from tests.unit.app.test_app_memory import COMPACT, STANDARD, sent

__all__ = ["state"]

pytestmark = pytest.mark.anyio

PLAN = ("todo", {"action": "add", "text": "1. Read it\n2. Fix it"})
READ = ("todo", {"action": "finish", "text": "Read"})


@pytest.fixture(autouse=True)
def a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nobody.confirmer, "answers", "person")


async def test_a_plan_leaves_nothing_in_the_project_and_survives_a_resumption(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    listing = ("todo", {"action": "list"})
    with WireServer([calls(PLAN), calls(READ), says("one"), calls(listing), says("two")]) as server:
        async with app_over(project, server.url, agent=STANDARD) as app:
            await played(app, "first")
            name = app.session_id
            planned = [one for one in app.keeping.sessions.read(name).entries if isinstance(one, Planned)]
            assert len(planned) == 2
        assert not (project / "LOCALLLM.md").exists()
        async with app_over(project, server.url, agent=STANDARD) as app:
            await app.keeping.resume(name)
            assert [todo.text for todo in app.memory.plan.open_todos()] == ["Fix it"]
            await played(app, "second")
        resumed, listed = sent(server, 3)[-1]["content"], sent(server, 4)[-1]["content"]
    assert resumed.startswith("Your plan, as far as it is open:\n- t")
    assert resumed.endswith(" Fix it\n\nsecond")
    assert listed.endswith(" Fix it")
    assert not (project / "LOCALLLM.md").exists()


async def test_what_is_open_at_the_end_is_put_into_a_file_that_is_there_once(tmp_path: Path) -> None:
    file = tmp_path / "LOCALLLM.md"
    file.write_text("# Mine\n\n## TODO\n\n- [ ] Read it\n- [x] Ship it\n")
    shipping = ("todo", {"action": "add", "text": "Ship it"})
    finish = ("todo", {"action": "finish", "text": "Fix"})
    with WireServer([calls(PLAN, shipping), calls(READ), says("one"), calls(finish), says("two")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            name = app.session_id
            assert "[ ] Read it" in file.read_text()
        text = file.read_text()
        assert "- [x] Read it ✓" in text
        assert text.count("- [ ] Fix it") == 1
        assert text.count("Ship it") == 1, "the user has finished that one"
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await app.keeping.resume(name)
            await played(app, "second")
        assert "- [x] Fix it" in file.read_text()


async def test_a_plan_made_after_strangers_text_is_not_put_into_the_file(tmp_path: Path) -> None:
    file = tmp_path / "LOCALLLM.md"
    file.write_text("# Mine\n")
    with WireServer([calls(PLAN), says("one")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            app.tool_system.taint()
            await played(app, "first")
    assert "Fix it" not in file.read_text()


async def test_a_rewind_takes_the_plan_with_it_and_its_undo_brings_it_back(tmp_path: Path) -> None:
    with WireServer([calls(PLAN), says("one"), calls(READ), says("two")]) as server:
        async with app_over(tmp_path, server.url, agent=COMPACT) as app:
            await played(app, "first")
            await played(app, "second")
            plan, after = app.memory.plan, app.memory.plan.text
            app.changes.rewind("2")
            assert len(plan.open_todos()) == 2
            name = app.session_id
            app.changes.undo()
            assert plan.text == after
            app.changes.rewind("1")
            assert plan.text == ""
        async with app_over(tmp_path, server.url, agent=COMPACT) as app:
            await app.keeping.resume(name)
            assert app.memory.plan.text == ""


async def test_the_user_puts_a_plan_on_the_list(tmp_path: Path) -> None:
    with WireServer([calls(PLAN), calls(READ), says("one")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            added = await app.memory.change("/todo", lambda memory: memory.take_over(app.memory.plan.text))
            assert added == 1
            assert "- [ ] Fix it" in (tmp_path / "LOCALLLM.md").read_text()
            app.changes.undo()
            assert not (tmp_path / "LOCALLLM.md").exists()


async def test_without_a_tool_for_them_the_model_can_tick_todos_off_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "LOCALLLM.md").write_text("# Mine\n\n## TODO\n\n- [ ] Read it\n- [ ] Ship it\n")
    tick = {"file_path": "LOCALLLM.md", "old_string": "- [ ] Read it", "new_string": "- [x] Read it"}
    with WireServer([calls(("edit_file", tick)), says("one"), says("two"), says("three")]) as server:
        async with app_over(tmp_path, server.url, agent=COMPACT) as app:
            app.set_mode("auto-edit")
            await played(app, "first")
            assert [todo.text for todo in app.external_memory.open_todos()] == ["Ship it"]
            await played(app, "second")
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "third")
    hint = 'edit its line in the file: "- [x]"'
    assert hint in sent(server, 0)[1]["content"]
    assert sent(server, 2)[-1]["content"] == "second", "it knows what it has changed"
    assert hint not in sent(server, 3)[1]["content"], "there is a tool for it"
