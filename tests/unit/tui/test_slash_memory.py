"""/todo, /remember, /forget, /memory and /init, over a real file."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from localllm.agent.memory_editor import Remembering
from localllm.agent.system_prompt import Briefing
from localllm.base.errors import LocalLLMError
from localllm.base.i18n import set_language
from localllm.config.schema import ProjectSettings, Settings
from localllm.llm.model_profiles import COMPACT
from localllm.memory.project_memory import ProjectMemory
from localllm.memory.search import MemoryEntry
from localllm.project.analyzer import ProjectAnalyzer
from localllm.project.facts import ProjectAnalysis
from localllm.text.sanitising import display_width
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashRegistry
from localllm.tui.input.completion import Suggester
from tests.support.agents import make_tools
from tests.support.slash import said

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project with a memory."""

    settings = Settings()
    profile = COMPACT

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.told: list[str] = []
        self.analysed = 0
        self.tools = make_tools(root)
        self.sessions: list[MemoryEntry] = []
        memory = ProjectMemory(root, "LOCALLLM.md", sessions=lambda: self.sessions)
        self.memory = Remembering(memory, self.tools, Briefing(root, memory), self.told.append, lambda: None)

    @property
    def text(self) -> str:
        return (self.root / "LOCALLLM.md").read_text("utf-8")

    async def analyze(self) -> ProjectAnalysis:
        self.analysed += 1
        return await ProjectAnalyzer(self.root).analyze()

    def ids(self) -> list[str]:
        return [todo.id for todo in self.memory.known_todos()]


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path / "p")


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


async def test_a_text_is_added_and_the_file_is_made_for_it(chat: Chat) -> None:
    shown = await said(chat, "todo Write the docs")
    assert "LOCALLLM.md was created." in shown
    assert re.search(r"To do: t\w+ Write the docs", shown)
    assert "- [ ] Write the docs +" in chat.text
    assert "was made" not in await said(chat, "todo add high Fix the login")
    assert "Fix the login (high) +" in chat.text


async def test_each_word_does_what_it_says(chat: Chat) -> None:
    for text in ("one", "two", "three"):
        await said(chat, f"todo {text}")
    assert "In progress" in await said(chat, "todo start two")
    assert "- [~] two" in chat.text
    assert "Done" in await said(chat, "todo done 2")
    assert "Dropped" in await said(chat, "todo drop thr")
    assert "To do" in await said(chat, "todo reopen 2")
    assert "Priority high" in await said(chat, "todo high one")
    assert "two times" in await said(chat, "todo edit 2 two times")
    assert "Now number 1" in await said(chat, "todo move 2 1")
    items = [line.split(" +")[0] for line in chat.text.splitlines() if line.startswith("- ")]
    assert items == ["- [ ] two times", "- [ ] one (high)", "- [-] three"]


async def test_the_list_has_what_is_open_and_all_has_all(chat: Chat) -> None:
    for number in range(34):
        await said(chat, f"todo task {number}")
    await said(chat, "todo start 34")
    await said(chat, "todo done 1")
    shown = (await said(chat, "todo")).splitlines()
    assert re.fullmatch(r"   34  t\w+  \[~\] task 33", shown[0])
    assert "… and 3 more: /todo all" in shown[-1]
    assert len((await said(chat, "todo all")).splitlines()) == 34


async def test_what_is_meant_by_nothing_is_an_error_and_changes_nothing(chat: Chat) -> None:
    await said(chat, "todo one")
    before = chat.text
    with pytest.raises(LocalLLMError, match="the server"):
        await said(chat, "todo start the server")
    assert "/todo edit 3 write the guide" in await said(chat, "todo done")
    assert "/todo edit 3 write the guide" in await said(chat, "todo move 1 up")
    assert chat.text == before


@pytest.mark.usefixtures("japanese")
async def test_in_japanese(chat: Chat) -> None:
    await said(chat, "todo 追加 高 ログイン画面を直す")
    assert "# プロジェクトメモリ" in chat.text
    assert "ログイン画面を直す (高)" in chat.text
    assert "進行中" in await said(chat, "todo 着手 ログイン")
    await said(chat, "remember 決定： タブを使う")
    assert re.search(r"## 決定事項\n\n- \d{4}-\d\d-\d\d タブを使う\n", chat.text)
    assert "[The user has noted a decision: タブを使う]" in chat.told
    assert "決定" in await said(chat, "memory タブ")


@pytest.mark.parametrize(("language", "kind"), [("en", "answer"), ("ja", "回答")])
async def test_past_answers_are_found(chat: Chat, language: Literal["en", "ja"], kind: str) -> None:
    passage = "それは設定の値を重ねる順番の話で、" * 10 + "ペリカンは config.toml です。"
    chat.sessions.append(MemoryEntry("s/1", "answer", passage, "2026-11-22 14:05", "How does it retry? " * 5))
    set_language(language)
    try:
        shown = await said(chat, "memory ペリカン")
    finally:
        set_language("en")
    assert f"{kind} 2026-11-22" in shown
    assert "How does it retry?" in shown
    assert "".join(passage.split()) in "".join(shown.split())


async def test_what_is_remembered_is_told_and_what_is_forgotten_too(chat: Chat) -> None:
    assert "Noted as a preference" in await said(chat, "remember Answer in short")
    assert "Noted as a decision" in await said(chat, "remember Decision: use msgspec")
    assert "Forgotten (preference)" in await said(chat, "forget Answer")
    await said(chat, "todo something")
    await said(chat, "forget something")
    assert chat.told == [
        "[The user has noted a preference: Answer in short]",
        "[The user has noted a decision: use msgspec]",
        "[The user has taken this back, it no longer holds: Answer in short]",
    ]


async def test_a_number_means_the_todo_the_list_gives_it(chat: Chat) -> None:
    for line in ("remember Answer in short", "todo one", "todo two", "todo three"):
        await said(chat, line)
    assert "Forgotten (TODO): “two”" in await said(chat, "forget 2")
    assert [todo.text for todo in chat.memory.known_todos()] == ["one", "three"]
    with pytest.raises(LocalLLMError, match="There is no"):
        await said(chat, "forget 3")


async def test_what_is_forgotten_comes_back(chat: Chat) -> None:
    await said(chat, "remember Answer in short")
    before = chat.text
    await said(chat, "forget Answer")
    chat.tools.changes.undo()
    assert chat.text == before


async def test_an_empty_memory_says_how_it_is_filled(chat: Chat) -> None:
    for line in ("todo", "memory", "forget x", "remember"):
        assert "/" in await said(chat, line)
    assert not (chat.root / "LOCALLLM.md").exists()


async def test_the_overview_names_the_most_important_and_the_instructions(chat: Chat) -> None:
    for number in range(7):
        await said(chat, f"todo task {number}")
    await said(chat, "remember decision: use msgspec")
    (chat.root / "AGENTS.md").write_text("x\n" * 2_000)
    shown = await said(chat, "memory")
    assert "… and 2 more: /todo" in shown
    assert "use msgspec" in shown
    assert "Instructions the model will be given" in shown
    assert "AGENTS.md (3,999 characters, the first 1,999 of them)" in shown


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_no_line_is_wider_than_the_screen(chat: Chat, language: str) -> None:
    set_language("ja" if language == "ja" else "en")
    try:
        await said(chat, "todo " + "とても長い作業の名前 " * 12)
        for line in ("todo", "memory", "memory 作業", "todo move", "forget とても", "help todo"):
            shown = await said(chat, line)
            assert max(map(display_width, shown.splitlines())) <= 80, line
    finally:
        set_language("en")


async def test_ids_are_completed_by_id_and_by_text(chat: Chat) -> None:
    await said(chat, "todo Fix the login")
    await said(chat, "todo Write the docs")
    await said(chat, "todo done 2")
    login, docs = chat.ids()
    registry = SlashRegistry(COMMANDS, {})
    made: Any = chat
    suggester = Suggester(chat.root, (), registry.overview, lambda name, after: registry.choices(name, made, after))

    def offered(typed: str) -> list[tuple[str, str, int]]:
        return [(one.text, one.note, one.replaces) for one in suggester.suggest(typed)]

    assert offered("/todo start ") == [(login, "Fix the login", 0)]
    assert offered("/todo start fix") == [(login, "Fix the login", 3)]
    assert offered("/todo reopen ") == [(docs, "Write the docs", 0)]
    assert offered("/todo add ") == []
    assert offered("/todo @LO") == offered("/todo add @LO") == [("LOCALLLM.md", "", 2)]
    assert ("start", "", 2) in offered("/todo st")
    assert offered("/forget docs") == [(docs, "TODO: Write the docs", 4)]
    assert suggester.applies("/todo start ")


async def test_init_makes_what_is_missing(chat: Chat) -> None:
    (chat.root / "main.py").write_text("print()\n")
    shown = await said(chat, "init")
    assert "LOCALLLM.md" in shown
    assert "Python" in chat.text
    assert (chat.root / "localllm.toml").exists()
    before = chat.text
    await said(chat, "init")
    assert chat.text == before
    assert chat.analysed == 1


async def test_init_adds_to_a_file_that_a_todo_made_and_that_can_be_undone(chat: Chat) -> None:
    await said(chat, "todo one")
    (chat.root / "main.py").write_text("print()\n")
    before = chat.text
    assert re.search(r"added +LOCALLLM.md: Project DNA, Directory structure, Coding style", await said(chat, "init"))
    assert "- Language: Python" in chat.text
    assert chat.text.endswith(before[before.index("## TODO") :])
    chat.tools.changes.undo()
    assert chat.text == before


async def test_all_that_init_makes_is_taken_back_at_once(chat: Chat) -> None:
    (chat.root / "main.py").write_text("print()\n")
    await said(chat, "init")
    assert (chat.root / "localllm.toml").exists()
    assert len(chat.tools.changes.undo()) == 2
    assert sorted(path.name for path in chat.root.iterdir()) == [".localllm", "main.py"]


async def test_redo_of_init_makes_the_notes_again_and_says_once_what_it_leaves_out(chat: Chat) -> None:
    await said(chat, "init")
    made = chat.text
    await chat.tools.execute_tool("write_file", file_path="a", content="x")
    chat.tools.changes.undo()
    chat.tools.changes.undo()
    assert "localllm.toml is not created again; /init does that." in chat.tools.changes.redo()
    assert len(chat.tools.changes.redo()) == 1
    assert chat.text == made
    assert not (chat.root / "localllm.toml").exists()


async def test_settings_changed_since_init_made_them_stay(chat: Chat) -> None:
    (chat.root / "main.py").write_text("print()\n")
    await said(chat, "init")
    (chat.root / "localllm.toml").write_text("offline = true\n")
    chat.tools.changes.undo()
    assert (chat.root / "localllm.toml").read_text() == "offline = true\n"
    assert not (chat.root / "LOCALLLM.md").exists()


async def test_a_rewind_leaves_settings_as_they_are(chat: Chat) -> None:
    position = chat.tools.changes.position
    await said(chat, "init")
    assert chat.tools.changes.changed_since(position) == ["LOCALLLM.md"]
    assert len(chat.tools.changes.rewind(position)) == 1
    assert (chat.root / "localllm.toml").exists()


async def test_the_settings_that_init_makes_beside_whole_notes_are_taken_back(chat: Chat) -> None:
    await said(chat, "init")
    (chat.root / "localllm.toml").unlink()
    await said(chat, "init")
    assert (chat.root / "localllm.toml").exists()
    assert len(chat.tools.changes.undo()) == 1
    assert not (chat.root / "localllm.toml").exists()
    assert (chat.root / "LOCALLLM.md").exists()


async def test_settings_that_were_there_stay_when_init_is_taken_back(chat: Chat) -> None:
    (chat.root / "localllm.toml").write_text("")
    await said(chat, "init")
    assert len(chat.tools.changes.undo()) == 1
    assert (chat.root / "localllm.toml").exists()


async def test_init_refreshes_when_it_is_asked_to(chat: Chat) -> None:
    (chat.root / "main.py").write_text("print()\n")
    await said(chat, "init")
    (chat.root / "more.py").write_text("print()\n")
    assert "updated" not in await said(chat, "init")
    assert re.search(r"updated +LOCALLLM.md: Project DNA\n", await said(chat, "init --refresh"))
    assert "files: 2" in chat.text


async def test_init_says_what_it_does_not_know(chat: Chat) -> None:
    for words in ("--force", "now", "--refresh --services"):
        assert "localllm init --help" in " ".join((await said(chat, f"init {words}")).split())
    assert list(chat.root.iterdir()) == []


async def test_a_plan_in_a_file_becomes_todos(chat: Chat) -> None:
    (chat.root / "the plan.md").write_text("# Plan\n- one\n- two (low)\n- [x] three\n")
    shown = await said(chat, 'todo add high @"the plan.md"')
    assert "2 TODOs" in shown
    assert "1 item was left out" in shown
    assert [(todo.text, todo.priority) for todo in chat.memory.known_todos()] == [("one", "high"), ("two", "low")]
    chat.tools.changes.undo()
    assert not (chat.root / "LOCALLLM.md").exists()
    assert "one" in await said(chat, 'todo @"the plan.md":2')
    assert [todo.text for todo in chat.memory.known_todos()] == ["one"]


async def test_words_after_an_at_are_a_task_and_a_file_that_is_not_there_is_not(chat: Chat) -> None:
    await said(chat, "todo @bob wants a report")
    assert [todo.text for todo in chat.memory.known_todos()] == ["@bob wants a report"]
    with pytest.raises(LocalLLMError) as raised:
        await said(chat, "todo @bob")
    assert raised.value.key == "todo_file_unreadable"


async def test_init_makes_the_file_the_settings_name(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "p")
    chat.settings = Settings(project=ProjectSettings(memory_file="docs/MEMORY.md"))
    await said(chat, "init")
    assert (chat.root / "docs" / "MEMORY.md").is_file()
    assert not (chat.root / "LOCALLLM.md").exists()


async def test_what_is_on_the_list_already_is_said_to_be(chat: Chat) -> None:
    await said(chat, "todo add Write docs")
    before = chat.text
    shown = await said(chat, "todo add write  docs")
    assert re.search(r"Already on the list: t\w+ Write docs\n", shown)
    assert chat.text == before
    assert "on the list; its priority is now high: t" in await said(chat, "todo add high Write docs")
    await said(chat, "todo done 1")
    assert "To do:" in await said(chat, "todo add Write docs"), "what is done may be to be done again"


async def test_a_priority_before_a_new_text_adds_it(chat: Chat) -> None:
    assert "To do:" in await said(chat, "todo high Fix the login")
    assert "Fix the login (high) +" in chat.text
    assert "Priority low" in await said(chat, "todo low Fix the")
    for name in ("7", "tbcdf"):
        with pytest.raises(LocalLLMError, match="There is no"):
            await said(chat, f"todo high {name}")


@pytest.mark.parametrize("line", ["todo add x", "todo", "remember x", "forget x"])
async def test_a_folder_in_its_place_has_a_fix_for_the_person(chat: Chat, line: str) -> None:
    (chat.root / "LOCALLLM.md").mkdir()
    with pytest.raises(LocalLLMError) as caught:
        await said(chat, line)
    assert caught.value.code == "E1701"
    assert "folder" in caught.value.why
    assert "Move the folder away" in caught.value.fix
    assert "list_files" not in str(caught.value)


async def test_a_form_that_is_none_shows_the_forms(chat: Chat) -> None:
    for line in ("todo done", "todo move x"):
        shown = await said(chat, line)
        assert "/todo start 3" in shown
        assert "/todo move 3 1" in shown


async def test_an_id_or_a_number_alone_shows_its_item_and_is_no_task(chat: Chat) -> None:
    await said(chat, "todo add Fix the login (high)\n  - in both views")
    before = chat.text
    for name in ("1", "１", chat.ids()[0], f"#{chat.ids()[0]}"):
        shown = await said(chat, f"todo {name}")
        assert "priority high" in shown
        assert "- in both views" in shown
        assert f"/todo start {chat.ids()[0]}" in shown
    for name in ("99", "tbcdf"):
        with pytest.raises(LocalLLMError, match="There is no"):
            await said(chat, f"todo {name}")
    assert chat.text == before


async def test_a_misspelt_word_is_asked_about(chat: Chat) -> None:
    await said(chat, "todo one")
    before = chat.text
    assert "Did you mean /todo start 1?" in await said(chat, "todo strat 1")
    assert "/todo edit one two" in await said(chat, "todo edti one two")
    assert "/todo add strat 1" in await said(chat, "todo strat 1")
    assert chat.text == before
    assert "To do:" in await said(chat, "todo strat the engine")
    assert "To do:" in await said(chat, "todo add strat 1")


async def test_what_is_so_already_is_said_to_be(chat: Chat) -> None:
    await said(chat, "todo one")
    assert "Done:" in await said(chat, "todo done 1")
    assert "Already done:" in await said(chat, "todo done 1")
    assert "(before: done)" in await said(chat, "todo drop 1")
    assert "before" not in await said(chat, "todo reopen 1")


@pytest.mark.parametrize("word", ["decision", "decision:", "決定", "preference"])
async def test_a_kind_without_a_text_is_nothing_to_remember(chat: Chat, word: str) -> None:
    assert "/remember" in await said(chat, f"remember {word}")
    assert not (chat.root / "LOCALLLM.md").exists()


async def test_undo_says_which_item_it_was(chat: Chat) -> None:
    await said(chat, "todo one")
    await said(chat, "todo done 1")
    await said(chat, "todo two")
    assert re.search(r"Gone: - \[ \] two \+", chat.tools.changes.undo()[0])
    assert re.search(r"Back: - \[ \] one \+[\d-]+$", chat.tools.changes.undo()[0])


async def test_a_list_is_a_line_for_each(chat: Chat) -> None:
    await said(chat, "todo " + "very long " * 50)
    await said(chat, "todo " + "とても長い" * 30)
    lines = (await said(chat, "todo")).splitlines()
    assert len(lines) == 2
    assert all(line.endswith("…") and display_width(line) <= 80 for line in lines)


async def test_a_conflict_is_said(chat: Chat) -> None:
    (chat.root / "LOCALLLM.md").write_text("## TODO\n<<<<<<< HEAD\n- [ ] a\n=======\n- [ ] b\n>>>>>>> other\n")
    for line in ("todo", "memory"):
        assert "git conflict from line 2 on" in await said(chat, line)
