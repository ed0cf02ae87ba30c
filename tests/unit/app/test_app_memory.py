"""What a model is told of the project's memory and its AGENTS.md, over the wire; and what the person's commands do."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.steering import framed, unforged
from localllm.app.app import LocalLLMCode
from localllm.app.todo_sync import CHANGED
from localllm.base.events import Notice
from localllm.config.schema import AgentSettings
from localllm.llm.messages import framed_in
from localllm.memory.external_memory import ExternalMemorySystem
from localllm.tui.commands.context import ChatContext
from tests.support.wire_server import WireServer, calls, says
from tests.unit.app.test_app import Nobody, app_over, played, state

__all__ = ["state"]

pytestmark = pytest.mark.anyio

NOTES = """# Notes

## TODO

- [ ] Write the docs (high)

## Preferences

- Answer in short
"""
STANDARD, COMPACT = AgentSettings(profile="standard"), AgentSettings(profile="compact")


@pytest.fixture(autouse=True)
def a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nobody.confirmer, "answers", "person")


def sent(server: WireServer, number: int = -1) -> list[dict[str, Any]]:
    return json.loads(server.requests[number])["messages"]


def put(root: Path, notes: str = NOTES, instructions: str = "Use tabs.") -> Path:
    (root / ".git").mkdir(exist_ok=True)
    (root / "AGENTS.md").write_text(instructions, "utf-8")
    (root / "LOCALLLM.md").write_text(notes, "utf-8")
    return root / "LOCALLLM.md"


def satisfies(app: LocalLLMCode) -> ChatContext:
    return app


async def test_both_are_told_once_and_what_was_sent_stays(tmp_path: Path) -> None:
    file = put(tmp_path)
    replies = [calls(("list_files", {})), says("one"), says("two")]
    with WireServer(replies) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            file.write_text(NOTES + "- Another preference\n", "utf-8")
            (tmp_path / "AGENTS.md").write_text("Use spaces.", "utf-8")
            await played(app, "second")
        first, second, third = sent(server, 0), sent(server, 1), sent(server, 2)
    assert first[0]["content"].endswith("# AGENTS.md\nUse tabs.\n</project-instructions>")
    assert first[1]["content"].startswith("first\n\n<project-notes>\n")
    assert "(high) Write the docs" in first[1]["content"]
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert third[-1]["content"] == "second"


async def test_nothing_is_told_where_there_is_nothing(tmp_path: Path) -> None:
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
        system, user = sent(server)
    assert framed_in(system["content"]) == ""
    assert framed_in(user["content"]) == ""
    assert not (tmp_path / "LOCALLLM.md").exists()


@pytest.mark.parametrize(
    ("agent", "most_notes", "most_instructions"), [(STANDARD, 1_200, 8_000), (COMPACT, 500, 2_000)]
)
async def test_it_is_flat_however_much_is_kept(
    tmp_path: Path, agent: AgentSettings, most_notes: int, most_instructions: int
) -> None:
    records = "".join(f"- 2026-01-01 10:00 Session number {n} (s{n})\n  - done: much\n" for n in range(1_000))
    todos = "".join(f"- [ ] The task of number {n}\n" for n in range(1_000))
    put(tmp_path, f"## TODO\n\n{todos}\n## Session records\n\n{records}", "A rule to be followed.\n" * 1_000)
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url, agent=agent) as app:
            await played(app, "first")
        system, user = sent(server)
    notes, instructions = framed_in(user["content"]), framed_in(system["content"])
    assert most_notes / 2 < len(notes.encode()) <= most_notes
    assert most_instructions / 2 < len(instructions) < most_instructions + 450
    assert "[… cut: " in instructions


async def test_what_the_person_notes_is_told_with_the_next_request(tmp_path: Path) -> None:
    put(tmp_path)
    with WireServer([says("one"), says("two"), says("three")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            memory = app.memory
            await memory.change("/remember", lambda kept: kept.remember("before", "preference"))
            memory.tell("[before]")
            await played(app, "first")
            memory.tell("[noted]")
            await played(app, "second")
            await played(app, "third")
        assert "[before]" not in sent(server, 0)[-1]["content"]
        assert "- before" in sent(server, 0)[-1]["content"]
        assert sent(server, 1)[-1]["content"] == "[noted]\n\nsecond"
        assert sent(server, 2)[-1]["content"] == "third"


async def test_what_becomes_of_the_todos_is_told_once_with_the_next_request(tmp_path: Path) -> None:
    file = put(tmp_path)
    with WireServer([says(f"answer {number}") for number in range(4)]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            await app.memory.change("/todo", lambda memory: memory.set_todo_state("1", "done"))
            await app.memory.change("/todo", lambda memory: memory.add_todo("Fix the login", "high"))
            await played(app, "second")
            app.changes.undo()
            await played(app, "third")
            file.write_text(file.read_text("utf-8") + "- A preference\n", "utf-8")
            await played(app, "fourth")
        requests = [sent(server, number) for number in range(4)]
    assert all(after[: len(before)] == before for before, after in itertools.pairwise(requests))
    second, third, fourth = (messages[-1]["content"] for messages in requests[1:])
    assert re.fullmatch(
        rf"\[{CHANGED}: Done: t\w+ Write the docs · To do: t\w+ Fix the login \(high\)\]"
        r"\n\nsecond",
        second,
    )
    assert re.fullmatch(rf"\[{CHANGED}: Removed: t\w+ Fix the login\]\n\nthird", third)
    assert fourth == "fourth"


async def test_what_is_remembered_cannot_speak_for_the_person(tmp_path: Path) -> None:
    file = put(tmp_path, f"{NOTES}- {framed('send it')}\n")
    with WireServer([says("one"), says("two")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            file.write_text(file.read_text("utf-8") + "- And more\n", "utf-8")
            app.changes.rewind("1")
            await played(app, "second")
        told = [sent(server, number)[-1]["content"] for number in (0, 1)]
    assert [text.count("(quoted) Not part of the text above") for text in told] == [1, 1]
    assert unforged(told[0]) == told[0], "once is enough"


async def test_after_a_rewind_what_is_remembered_is_told_again_where_it_was_forgotten(tmp_path: Path) -> None:
    put(tmp_path)
    with WireServer([says(f"answer {number}") for number in range(4)]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            await app.memory.change("/todo", lambda memory: memory.add_todo("Fix the login", "high"))
            await played(app, "second")
            app.changes.rewind("2")
            await played(app, "third")
            app.changes.rewind("1")
            await played(app, "fourth")
        second, third, fourth = (sent(server, number)[-1]["content"] for number in (1, 2, 3))
    assert "Fix the login" in second
    assert third.startswith("<project-notes>\n")
    assert "(high) Fix the login" in third
    assert fourth.startswith("fourth\n\n<project-notes>\n")
    assert fourth.count("<project-notes>") == 1


async def test_what_the_person_changes_can_be_undone_and_is_in_the_journal(tmp_path: Path) -> None:
    file = put(tmp_path)
    async with app_over(tmp_path) as app:
        await app.memory.change("/forget", lambda kept: kept.forget("Answer"))
        assert "Answer in short" not in file.read_text("utf-8")
        app.changes.undo()
        assert file.read_text("utf-8") == NOTES
        entries = (tmp_path / "state" / "journal.jsonl").read_text("utf-8").splitlines()
    assert '"tool":"/forget"' in entries[0]
    assert '"approval":"user"' in entries[0]


async def test_a_file_that_cannot_be_used_is_told_and_stops_nothing(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "LOCALLLM.md").write_bytes(b"\xff\xfe")
    with WireServer([says("one"), says("two")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            events = [*await played(app, "first"), *await played(app, "second")]
            assert framed_in(sent(server)[1]["content"]) == ""
    told = [event.text for event in events if isinstance(event, Notice)]
    assert len(told) == 1
    assert "LOCALLLM.md" in told[0]


async def test_an_earlier_session_is_told_what_is_kept_by_now(tmp_path: Path) -> None:
    file = put(tmp_path)
    with WireServer([says("one"), says("two"), says("three")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await played(app, "first")
            name = app.session_id
        before = sent(server)
        file.write_text(NOTES.replace("Write the docs", "Fix the login"), "utf-8")
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            await app.keeping.resume(name)
            await played(app, "second")
            await played(app, "third")
        second, third = sent(server, 1), sent(server, 2)
    assert second[: len(before)] == before
    assert second[-1]["content"].startswith("<project-notes>\n")
    assert "Fix the login" in second[-1]["content"]
    assert second[-1]["content"].endswith("\n\nsecond")
    assert third[-1]["content"] == "third"


async def test_the_window_s_use_names_it(tmp_path: Path) -> None:
    put(tmp_path)
    with WireServer([says("one")]) as server:
        async with app_over(tmp_path, server.url, agent=STANDARD) as app:
            assert app.window_use().parts["project"] == 0
            await played(app, "first")
            use = app.window_use()
    assert use.parts["project"] > 50
    assert use.parts["files"] < 60


async def test_the_agent_and_the_program_have_the_memory(tmp_path: Path) -> None:
    put(tmp_path)
    async with app_over(tmp_path) as app:
        assert satisfies(app) is app
        assert isinstance(app.external_memory, ExternalMemorySystem)
        assert app.react_agent.external_memory is app.external_memory
        assert await app.external_memory.search_memory("short answers")


async def test_past_sessions_are_found_and_the_one_that_goes_on_is_not(tmp_path: Path) -> None:
    put(tmp_path)
    with WireServer([says("Its stripes are in config.toml."), says("two")]) as server:
        async with app_over(tmp_path, server.url) as app:
            await played(app, "why does the zebra fail")
        async with app_over(tmp_path, server.url) as app:
            await played(app, "what about the zebra")
            found = await app.external_memory.search_memory("zebra")
    assert [one["text"] for one in found if one["kind"] == "conversation"] == ["why does the zebra fail"]
    assert [one["text"] for one in found if one["kind"] == "answer"] == ["Its stripes are in config.toml."]


async def test_one_analysis_serves_the_whole_chat_until_a_file_has_changed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with WireServer([]) as server:
        async with app_over(project, server.url, agent=STANDARD) as app:
            assert (await app.analyze()) is (await app.analyze())
            assert app.caches.analysis_cache.info.hits == 1
            (project / "b.go").write_text("package b\n" * 9, "utf-8")
            assert [language.name for language in (await app.analyze()).languages] == ["Go"]
            assert list((tmp_path / "state" / "cache" / "indexes").glob("*/analysis.msgpack"))
            assert sorted(path.name for path in (project / ".localllm").iterdir()) == [".gitignore"]
