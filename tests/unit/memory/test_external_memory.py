"""The memory as the rest of the program uses it: kept between sessions, searched, digested in little room."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from localllm.base import i18n
from localllm.base.errors import LocalLLMError
from localllm.memory import notes, session_records, todos
from localllm.memory.document import Document
from localllm.memory.external_memory import ExternalMemorySystem
from localllm.memory.search import MemoryEntry
from localllm.memory.session_records import SessionRecord

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> ExternalMemorySystem:
    return ExternalMemorySystem(tmp_path, now=lambda: NOW)


async def test_a_todo_from_beginning_to_end(memory: ExternalMemorySystem) -> None:
    name = await memory.add_todo("write docs", "high")
    other = await memory.add_todo("write tests")
    assert [todo.id for todo in memory.open_todos()] == [name, other]
    assert (await memory.set_todo_state(other, "doing")).state == "doing"
    assert memory.open_todos()[0].id == other
    assert memory.find_todo("write t") == memory.open_todos()[0]
    assert (await memory.set_todo_state("1", "done")).finished == "2026-11-22"
    assert (await memory.set_todo_state("write t", "dropped")).state == "dropped"
    assert memory.open_todos() == []
    await memory.set_todo_state(other, "planned")
    await memory.set_todo_priority(other, "低")
    await memory.move_todo(other, 1)
    await memory.set_todo_text(other, "write all tests")
    assert [(todo.text, todo.priority) for todo in memory.todos()] == [
        ("write all tests", "low"),
        ("write docs", "high"),
    ]


async def test_what_is_remembered_can_be_forgotten(memory: ExternalMemorySystem) -> None:
    preference = await memory.remember("短く答える")
    decision = await memory.remember("use msgspec", "decision")
    todo = await memory.remember("write docs", "todo")
    await memory.record_session(SessionRecord("20261122-140500-ab12", NOW, "the goal"))
    [session] = memory.session_records()
    assert memory.decisions()[0].text == "use msgspec"
    assert memory.preferences()[0].text == "短く答える"
    kinds = [(await memory.forget(name)).kind for name in (preference, decision, "write", session.id)]
    assert kinds == ["preference", "decision", "todo", "session"]
    assert not memory.todos()
    assert not memory.session_records()
    with pytest.raises(LocalLLMError) as error:
        await memory.forget(todo)
    assert error.value.key == "memory_unknown"


async def test_a_priority_in_the_text_counts_unless_another_is_given(memory: ExternalMemorySystem) -> None:
    for task, given in {"plain": "medium", "urgent (high)": "medium", "later": "low"}.items():
        await memory.add_todo(task, given)
    assert [todo.priority for todo in memory.todos()] == ["medium", "high", "low"]


@pytest.mark.parametrize("act", ["kind", "priority"])
async def test_words_that_are_none(memory: ExternalMemorySystem, act: str) -> None:
    with pytest.raises(LocalLLMError) as error:
        await (memory.remember("a", "wish") if act == "kind" else memory.add_todo("a", "soon"))
    assert error.value.key == "memory_bad_kind"
    assert not memory.file.path.exists()


async def test_search_finds_english_and_japanese(tmp_path: Path) -> None:
    (tmp_path / "LOCALLLM.md").write_text(
        "# Mine\n\n## Coding style\n- 型ヒントを必ず書く\n\n## TODO\n- [ ] ログイン画面を直す\n  - セッションの期限\n"
        "## Decisions\n- 2026-11-01 Cache pages in Valkey\n\n## Deployment\nServers are restarted with make restart.\n"
    )
    past = [MemoryEntry("s1", "event", "we talked about caching", "2026-10-01")]
    memory = ExternalMemorySystem(tmp_path, sessions=lambda: past, now=lambda: NOW)

    async def kinds(query: str) -> list[object]:
        return [found["kind"] for found in await memory.search_memory(query)]

    assert await kinds("ログインの期限") == ["todo"]
    assert (await kinds("型ヒント"))[0] == "style"
    assert await kinds("cache pages") == ["decision", "event"]
    assert await kinds("restarting the server") == ["notes"]
    assert await kinds("deployment") == ["notes"]
    assert await kinds("zebra") == []
    assert await kinds("") == []
    assert len(await memory.search_memory("cache", limit=1)) == 1
    past.clear()
    assert await kinds("cache") == ["decision"]


async def test_of_equal_entries_the_newer_comes_first(tmp_path: Path) -> None:
    past = [MemoryEntry(f"s{day}", "event", "fixed the login", f"2026-11-{day:02}") for day in (3, 20, 11)]
    memory = ExternalMemorySystem(tmp_path, sessions=lambda: past, now=lambda: NOW)
    assert [found["when"] for found in await memory.search_memory("login")] == [
        "2026-11-20",
        "2026-11-11",
        "2026-11-03",
    ]


async def test_what_is_dated_ahead_counts_as_of_today(tmp_path: Path) -> None:
    days = ["2027-01-01", *(f"2026-12-{day:02}" for day in range(1, 32))]
    past = [MemoryEntry(day, "event", "fixed the login", day) for day in days]
    memory = ExternalMemorySystem(tmp_path, sessions=lambda: past, now=lambda: NOW)
    found = await memory.search_memory("login", limit=len(days))
    assert {one["score"] for one in found} == {found[0]["score"]}
    assert len(found) == len(days)


async def test_of_one_day_what_was_added_last_comes_first_and_all_are_counted(memory: ExternalMemorySystem) -> None:
    for number in range(11, 19):
        await memory.add_todo(f"login {number}")
    found, total = await memory.recall("login", 3)
    assert [one["text"] for one in found] == ["login 18", "login 17", "login 16"]
    assert total == 8
    assert (await memory.recall("login", -1)) == ([], 8)


async def test_a_secret_is_not_kept(memory: ExternalMemorySystem) -> None:
    await memory.add_todo("one")
    before = memory.file.path.read_text("utf-8")
    key = "use sk-" + "abcdefghijklmnopqrstuvwxyz123456"
    for change in (
        lambda: memory.remember(key),
        lambda: memory.remember(key, "decision"),
        lambda: memory.put_todos(key),
        lambda: memory.put_todo(key),
        lambda: memory.set_todo_text("one", key),
    ):
        with pytest.raises(LocalLLMError) as error:
            await change()
        assert error.value.key == "memory_secret"
        assert "abcdefgh" not in str(error.value)
    with pytest.raises(LocalLLMError) as error:
        await memory.remember(f"{key} {'and more ' * 60}")
    assert len(str(error.value)) < 400
    assert memory.file.path.read_text("utf-8") == before


async def test_hardly_a_beginning_removes_nothing(memory: ExternalMemorySystem) -> None:
    name = await memory.remember("decide soon")
    other = await memory.remember("表を直す", "decision")
    for wanted in ("d", "DE", "表"):
        with pytest.raises(LocalLLMError) as error:
            await memory.forget(wanted)
        assert error.value.key == "memory_vague"
        assert (other if wanted == "表" else name) in error.value.why
    assert (await memory.forget("dec")).text == "decide soon"
    assert (await memory.forget("表を")).id == other
    await memory.remember("x")
    assert (await memory.forget("x")).text == "x"


def test_the_digest_says_that_there_are_more_decisions(memory: ExternalMemorySystem) -> None:
    memory.file.edit(lambda _: (history(100), None))
    assert re.search(r"decision 99\n(- .*\n)*\(and \d+ more: recall finds them\)", memory.digest(1200))
    assert re.search(r"decision 99\n(- .*\n)*\(and \d+ more\)", memory.digest(500, searchable=False))
    assert len(memory.digest(500, searchable=False).encode()) <= 500


async def test_large_tasks_are_cut(memory: ExternalMemorySystem) -> None:
    assert await memory.chunk_large_task("一。" * 2000) == ["一。" * 1000, "一。" * 1000]


@cache
def history(count: int) -> Document:
    """A file after so many sessions, each with a TODO left open and a decision."""
    lines = ["# Mine", "", "## TODO", ""]
    lines += [f"- [ ] 課題 {number} which is still open" for number in range(count)]
    lines += ["", "## Decisions", ""]
    lines += [f"- {date(2020, 1, 1) + timedelta(days=number)} decision {number}" for number in range(count)]
    document = Document("## Session records\n")
    for number in range(max(0, count - 70), count):
        when = NOW - timedelta(days=count - number)
        record = SessionRecord(f"{when:%Y%m%d}-{number:06}", when, f"goal {number}", ("d",), ("r", "o"))
        document = session_records.put(document, record)
    return Document("\n".join([*lines, "", document.text]))


def test_the_digest_does_not_grow_with_history(memory: ExternalMemorySystem) -> None:
    sizes: list[int] = []
    for count in (1, 10, 100, 1000):
        document = history(count)
        memory.file.edit(lambda _, document=document: (document, None))
        told = memory.digest()
        sizes.append(len(told.encode()))
        assert f"goal {count - 1}" in told
        assert f"decision {count - 1}" in told
        assert "課題 0" in told
    assert sizes[:3] == sorted(sizes[:3])
    assert sizes[-1] <= 1200
    assert sizes[3] - sizes[2] < 100


@pytest.mark.parametrize("limit", [0, 50, 120, 400, 1200, 5000])
def test_the_digest_keeps_its_limit(memory: ExternalMemorySystem, limit: int) -> None:
    memory.file.edit(lambda _: (history(100), None))
    assert len(memory.digest(limit).encode()) <= limit


def test_the_digest_uses_all_of_its_limit(memory: ExternalMemorySystem) -> None:
    memory.file.edit(lambda _: (Document("## Preferences\n- " + "a" * 238 + "\n- " + "あ" * 80 + "\n"), None))
    whole = memory.digest()
    assert [len(line.encode()) for line in whole.splitlines()] == [12, 240, 239]
    assert whole.endswith("…")
    assert memory.digest(len(whole.encode())) == whole
    assert len(memory.digest(len(whole.encode()) - 1).splitlines()) == 2
    assert memory.digest(100) == ""


def test_the_digest_tells_how_many_more_there_are(memory: ExternalMemorySystem) -> None:
    memory.file.edit(lambda _: (history(40), None))
    told = memory.digest().splitlines()
    shown = told.index("Decisions:") - 2
    assert f"(and {40 - shown} more)" in told
    made = sum(" decision " in line for line in told)
    assert f"(and {40 - made} more: recall finds them)" in told
    unsearchable = memory.digest(searchable=False)
    assert "recall" not in unsearchable
    assert unsearchable.count(" more)") == 2


def test_the_digest_begins_with_what_is_urgent(memory: ExternalMemorySystem) -> None:
    text = "## TODO\n- [ ] last\n- [ ] second (high)\n- [~] first\n- [x] over\n\n## Preferences\n- answer in short\n"
    memory.file.edit(lambda _: (Document(text), None))
    first, second, last = (one.id for one in memory.open_todos())
    assert memory.digest().splitlines() == [
        "Open TODOs:",
        f"- {first} (in progress) first",
        f"- {second} (high) second",
        f"- {last} last",
        "Preferences:",
        "- answer in short",
    ]
    i18n.set_language("ja")
    try:
        assert memory.digest().splitlines()[0] == "Open TODOs:"  # a model reads English
    finally:
        i18n.set_language("en")


PROJECT = """# Memory

## プロジェクトDNA
- 概要: <!-- 何のための、誰のためのものかを一行で -->
- アーキテクチャ: マイクロサービス <!-- 二つ -->
- 言語: Python 3.12
<!-- - 概要 -->
- Hints: <!-- none -->
- テスト: `pytest -q`

## コーディングスタイル
- Type hints必須
- Docstring: Google Style

### 触れてはいけないもの
- src/legacy/

## TODO
- [ ] one
"""


def test_the_digest_tells_how_the_project_is_written(memory: ExternalMemorySystem) -> None:
    memory.file.edit(lambda _: (Document(PROJECT), None))
    assert memory.digest().splitlines()[2:] == [
        "Coding style:",
        "- 触れてはいけないもの: src/legacy/",
        "- Type hints必須",
        "- Docstring: Google Style",
        "About the project:",
        "- アーキテクチャ: マイクロサービス <!-- 二つ -->",
        "- 言語: Python 3.12",
        "- テスト: `pytest -q`",
    ]


def test_what_must_not_be_done_has_room_in_the_smallest_profile(memory: ExternalMemorySystem) -> None:
    text = PROJECT.replace("- Type hints必須", "- a rule of style\n" * 60)
    memory.file.edit(lambda _: (Document(text + "".join(f"- [ ] task {number}\n" for number in range(60))), None))
    told = memory.digest(500)
    assert "src/legacy/" in told
    assert "task 0" in told
    assert len(told.encode()) <= 500


def test_an_empty_memory_says_nothing(memory: ExternalMemorySystem) -> None:
    assert memory.digest() == ""
    assert memory.todos() == ()
    assert notes.notes(memory.file.read(), "decisions") == ()
    assert todos.by_urgency(memory.todos()) == []
