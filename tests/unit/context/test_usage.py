"""Where the window goes: each part of a message counts for whoever it is of."""

import msgspec
import pytest

from localllm.base.events import ToolCall
from localllm.context.budget import Scale
from localllm.context.conversation import Conversation, Spoken
from localllm.context.summary import head_text
from localllm.context.usage import PARTS, PartName, WindowUse, window_use
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
    framed,
)
from localllm.llm.providers.base import ModelInfo
from tests.support.agents import scripted
from tests.unit.llm.test_client import Asked

pytestmark = pytest.mark.anyio

LOOK = ToolSpec("look", "Look at it.", {"type": "object", "properties": {}})
LONG = "a few words more " * 200
"""About 950 tokens."""


def client(window: int = 32_768) -> LLMClient:
    return LLMClient(scripted("hello"), model="m", context_window=window)


def use(*messages: Message, spoken: tuple[Spoken, ...] = (), system: str = "system") -> WindowUse:
    talk = Conversation((SystemMessage(system), *messages), spoken)
    return window_use(talk, Scale(client(), (LOOK,), 0.85), assumed=False)


def called(name: str, text: str = "", arguments: str = "{}", images: tuple[Image, ...] = ()) -> list[Message]:
    return [AssistantMessage("", (ToolCall("c", name, arguments),)), ToolMessage("c", name, text, images)]


def grown(before: WindowUse, after: WindowUse) -> dict[str, int]:
    """The parts that have more than a few tokens more."""
    more = {name: after.parts[name] - before.parts[name] for name in PARTS}
    return {name: count for name, count in more.items() if abs(count) > 15}


@pytest.mark.parametrize(
    ("tool", "part"),
    [
        ("read_file", "files"),
        ("analyze_code", "files"),
        ("run_command", "commands"),
        ("command_output", "commands"),
        ("search_files", "results"),
        ("web_search", "results"),
    ],
)
def test_a_result_counts_for_its_tool(tool: str, part: PartName) -> None:
    assert list(grown(use(*called(tool)), use(*called(tool, LONG)))) == [part]


@pytest.mark.parametrize(
    ("messages", "spoken", "part"),
    [
        ([UserMessage(LONG)], (Spoken(LONG, 1),), "words"),
        ([UserMessage(f"hi\n\n{LONG}")], (Spoken("hi", 1),), "files"),
        ([UserMessage(framed("project-notes", "about", LONG))], (), "project"),
        ([UserMessage(head_text(["hi"], LONG))], (Spoken("hi", 1),), "summary"),
        ([AssistantMessage(LONG)], (), "model"),
        (called("look", "", f'{{"note": "{LONG}"}}'), (), "model"),
        (called("look", f"there\n\n{LONG}"), (Spoken(LONG, 2),), "words"),
    ],
    ids=["words", "files that are named", "notes", "summary", "answer", "arguments", "steering"],
)
def test_a_message_counts_for_whoever_has_said_it(
    messages: list[Message], spoken: tuple[Spoken, ...], part: PartName
) -> None:
    assert list(grown(use(), use(*messages, spoken=spoken))) == [part]


def test_the_projects_own_instructions_are_no_part_of_the_system_prompt() -> None:
    told = framed("project-instructions", "about", LONG)
    assert list(grown(use(), use(system=f"system\n\n{told}"))) == ["project"]
    assert list(grown(use(), use(system=f"system {LONG}"))) == ["system"]


def test_pictures_count_for_what_they_came_with() -> None:
    shot = Image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1280).to_bytes(4) + (720).to_bytes(4))
    assert grown(use(*called("run_command")), use(*called("run_command", images=(shot,)))).keys() == {"commands"}
    assert grown(use(UserMessage("")), use(UserMessage("", (shot,)))).keys() == {"files"}


def test_tools_are_a_part_of_their_own() -> None:
    talk = Conversation((SystemMessage("system"),))
    bare = window_use(talk, Scale(client(), (), 0.85), assumed=True)
    many = window_use(talk, Scale(client(), [msgspec.structs.replace(LOOK, description=LONG)], 0.85), assumed=False)
    assert list(grown(bare, many)) == ["tools"]
    assert (bare.parts["tools"], bare.assumed, many.assumed) == (0, True, False)


def test_what_is_free_is_neither_used_nor_kept_for_the_answer() -> None:
    found = WindowUse(1_000, False, 250, dict.fromkeys(PARTS, 0) | {"words": 300, "model": 100})
    assert (found.used, found.free) == (400, 350)
    assert msgspec.structs.replace(found, reserve=700).free == 0


async def test_parts_are_as_large_as_the_server_has_counted() -> None:
    talk = Conversation((SystemMessage("system"), UserMessage(LONG)), (Spoken(LONG, 1),))
    asked = LLMClient(Asked(ModelInfo("m", context_window=4_096), 2_000), model="m")
    before = window_use(talk, Scale(asked, (), 0.85), assumed=False)
    await asked.complete(talk.messages)
    after = window_use(talk, Scale(asked, (), 0.85), assumed=False)
    assert before.used < 1_000
    assert after.used == pytest.approx(2_000, abs=5)
    assert after.parts["words"] > 1.9 * before.parts["words"] * 2_000 / (2 * before.used)
