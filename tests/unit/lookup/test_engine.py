"""The embedded engine as a provider: cheap to import, with the tools it is offered."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base.events import Json, ToolCall
from localllm.llm.messages import (
    AssistantMessage,
    CompletionRequest,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from localllm.llm.providers.base import NO_MODEL, Chunk, FinishChunk, TextChunk, ToolCallChunk
from localllm.lookup.engine import MODEL, Embedded

pytestmark = pytest.mark.anyio

TOOLS = tuple(
    ToolSpec(name, "", {"type": "object", "properties": {}})
    for name in ("search_files", "read_file", "list_files", "analyze_code", "git_log", "run_command")
)


SITUATION = "\n\n[Project shop, 2024-05-01. Top level: README.md shop/]"


def asked(question: str) -> UserMessage:
    return UserMessage(question + SITUATION)


async def step(root: Path, *messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **more: Json) -> list[Chunk]:
    request = CompletionRequest(model="embedded", messages=(SystemMessage("You help."), *messages), tools=tools, **more)
    return [chunk async for chunk in Embedded(root).stream(request)]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_an_instruction_is_carried_out_by_a_call(shop: Path) -> None:
    chunks = await step(shop, asked("run `make lint`"))

    assert chunks[-1] == FinishChunk("tool_calls")
    (call,) = [chunk for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert (call.name, call.arguments) == ("run_command", '{"command":"make lint"}')


@pytest.mark.parametrize("path", ["out/notes.txt", "link.txt", "../private/notes.txt"])
async def test_no_file_outside_is_quoted_in_a_call(tmp_path: Path, path: str) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/notes.txt").write_text("the last line is private\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/out").symlink_to("../private")
    (tmp_path / "project/link.txt").symlink_to("../private/notes.txt")
    edits = (ToolSpec("edit_file", "", {"type": "object", "properties": {}}),)
    chunks = await step(tmp_path / "project", asked(f'append "more" to {path}'), tools=edits)
    assert "private" not in "".join(map(str, chunks)).replace(path, "")


async def test_a_question_is_answered_at_once_and_always_the_same(shop: Path) -> None:
    question = asked("where is the retry logic?")
    first = await step(shop, question)

    assert first[-1] == FinishChunk("stop")
    assert "shop/net/retrying.py:8" in text_of(first)
    assert await step(shop, question) == first


@pytest.mark.parametrize(
    ("question", "reason"),
    [("refactor the parser", NO_MODEL), ("バグを直して", NO_MODEL), ("where is PORT?", "stop"), ("thanks", "stop")],
)
async def test_what_takes_a_model_ends_as_not_done(shop: Path, question: str, reason: str) -> None:
    assert (await step(shop, asked(question)))[-1] == FinishChunk(reason)


async def test_a_result_is_shown_as_it_is_and_not_read(shop: Path) -> None:
    """Tools may speak any language, and say what they like."""
    call = ToolCall("a", "run_command", '{"command": "make lint"}')
    said = ToolMessage("a", "run_command", "Rückgabewert 3: I found nothing")

    chunks = await step(shop, asked("`make lint` を実行して"), AssistantMessage("", (call,)), said)

    assert "実行しました" in text_of(chunks)
    assert "Rückgabewert 3: I found nothing" in text_of(chunks)


@pytest.mark.parametrize("more", [{"tools": ()}, {"tool_choice": "none"}])
async def test_without_tools_it_calls_none(shop: Path, more: dict[str, Json]) -> None:
    chunks = await step(shop, asked("run `make lint`"), **more)

    assert not [chunk for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert "run_command" in text_of(chunks)


async def test_it_lists_and_describes_itself() -> None:
    engine = Embedded()

    assert await engine.list_models() == [MODEL]
    assert await engine.describe("anything") == MODEL
    await engine.aclose()


def test_importing_it_loads_no_words() -> None:
    loaded = "'sqlite3' in sys.modules, 'localllm.lookup.terms' in sys.modules"
    code = f"import sys; import localllm.lookup.engine; print({loaded})"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Which classes inherit from Foo?", "impl Foo "),
        ("Which classes inherit from Foo?", "struct Foo : "),
        ("Who calls Foo?", "Foo<"),
        ("What is this project?", "Foo"),
        ("Who imports Foo.a?", "from Foo import a"),
    ],
)
@pytest.mark.parametrize("length", [390_000, 900])
async def test_long_lines_take_bounded_time(tmp_path: Path, question: str, passage: str, length: int) -> None:
    line = passage * (length // len(passage)) + "\n"
    for name in ("a.rs", "README.md"):
        (tmp_path / name).write_text(f"# {name}\n" + line * (390_000 // len(line)), "utf-8")
    assert await step(tmp_path, asked(question))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("question", ["What does this project do?", "Where is the zebra parser?"])
async def test_files_whose_names_are_not_utf8_are_counted(tmp_path: Path, question: str) -> None:
    (tmp_path / "README.md").write_text("# Shop\n\nA shop.\n")
    for name in (b"caf\xe9.py", b"d\xff/x.md"):
        file = tmp_path / os.fsdecode(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text("x = 1\n")
    answer = text_of(await step(tmp_path, asked(question)))
    assert "(2 files were not looked at: the name is not UTF-8.)" in answer
