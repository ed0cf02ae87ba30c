"""Which dialect is spoken, and what makes it change: over the wire, as servers really refuse."""

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from localllm.base.errors import LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Completion, CompletionRequest, ToolMessage, UserMessage
from localllm.llm.providers.base import Ability, Chunk, ModelInfo
from localllm.llm.providers.openai_compatible import OpenAICompatible
from localllm.llm.tool_calling.dialect import DialectMemory
from localllm.llm.tool_calling.router import DialectSetting, Speaking, choose
from tests.support.dialects import TOOLS
from tests.support.wire_server import Reply, WireServer, calls, fails, says

pytestmark = pytest.mark.anyio

HELLO = (UserMessage("Hello"),)
NO_TOOLS = "m does not support tools"
BAD = calls(("read_file", '{"file_path": "a.p'))
CALL = calls(("read_file", {"file_path": "a.py"}))
STEP = says(json.dumps({"thought": "t", "action": {"name": "final_answer", "arguments": {"answer": "Yes"}}}))
REACT = says("Thought: t\nFinal Answer: Yes")
LLAMA_CPP = {"object": "list", "data": [{"id": "m", "owned_by": "llamacpp"}]}


class Known:
    """A provider that says what it can do."""

    name = "known"
    address = "http://127.0.0.1:9"

    def __init__(self, *, constrains: bool) -> None:
        self.constrains = constrains

    def stream(self, request: CompletionRequest) -> AsyncGenerator[Chunk]:
        raise AssertionError(request)

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def describe(self, model: str, listed: Sequence[ModelInfo] = ()) -> ModelInfo:
        return ModelInfo(model)

    async def aclose(self) -> None:
        pass


def as_json(value: Any) -> Reply:
    return Reply((json.dumps(value).encode(),), headers={"content-type": "application/json"})


class Talk:
    """A client of a server, what it was told, and what the server was asked."""

    def __init__(
        self,
        server: WireServer,
        setting: DialectSetting = "auto",
        memory: DialectMemory | None = None,
        retries: int = 0,
    ) -> None:
        self.server = server
        self.notices: list[str] = []
        self.provider = OpenAICompatible("openai", server.url, timeout=5, idle_timeout=5)
        self.client = LLMClient(
            self.provider, model="m", max_retries=retries, speaking=Speaking(setting, memory), pause=at_once
        )

    async def ask(self, messages: Sequence[Any] = HELLO) -> Completion:
        return await self.client.complete(messages, TOOLS, on_notice=self.notices.append)

    @property
    def spoken(self) -> list[str]:
        """The dialect of each request."""
        return [
            "native" if "tools" in body else "structured" if "response_format" in body else "text"
            for body in self.server.bodies()
        ]


class TalkTo(Protocol):
    """Makes a talk that is closed at the end of the test."""

    def __call__(
        self, server: WireServer, setting: DialectSetting = ..., memory: DialectMemory | None = ..., retries: int = ...
    ) -> Talk: ...


@pytest.fixture
async def talk_to() -> AsyncGenerator[TalkTo]:
    made: list[Talk] = []

    def make(
        server: WireServer, setting: DialectSetting = "auto", memory: DialectMemory | None = None, retries: int = 0
    ) -> Talk:
        made.append(Talk(server, setting, memory, retries))
        return made[-1]

    yield make
    for talk in made:
        await talk.client.aclose()


async def at_once(_seconds: float) -> None:
    pass


@pytest.mark.parametrize(
    ("abilities", "constrains", "ruled_out", "chosen"),
    [
        (None, False, (), "native"),
        ({"tools"}, True, (), "native"),
        ({"vision"}, True, (), "structured"),
        (set(), False, (), "text"),
        (None, True, ("native",), "structured"),
        (None, False, ("native",), "text"),
        (None, True, ("native", "structured"), "text"),
        (set(), True, ("structured",), "text"),
        ({"tools"}, True, ("structured",), "native"),
    ],
)
def test_the_choice(abilities: set[Ability] | None, constrains: bool, ruled_out: Any, chosen: str) -> None:
    info = ModelInfo("m", abilities=None if abilities is None else frozenset(abilities))
    assert choose(info, Known(constrains=constrains), ruled_out) == chosen


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (400, NO_TOOLS),
            (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
            (500, "tools param requires --jinja flag"),
            (500, "Error: Jinja Exception: this template knows no functions"),
            (400, "Unsupported parameter: 'tools' is not supported with this model."),
            (500, "Unable to generate parser for this template. chat template has no role tool"),
            (400, "Unable to generate parser for this template. Automatic parser generation failed"),
        ],
    )
    async def test_tools_that_are_refused_are_told_of_in_words_at_once(
        self, talk_to: TalkTo, status: int, message: str
    ) -> None:
        with WireServer([fails(status, message), REACT]) as server:
            talk = talk_to(server)
            assert (await talk.ask()).message == AssistantMessage("Yes", thinking="t")
            await talk.ask()
        assert talk.spoken == ["native", "text", "text"]
        assert len(talk.notices) == 1
        assert "m" in talk.notices[0]
        assert "plain text" in talk.notices[0]

    async def test_a_server_that_can_constrain_is_given_the_schema(self, talk_to: TalkTo) -> None:
        with WireServer([fails(400, NO_TOOLS), STEP], list_replies=[as_json(LLAMA_CPP)] * 9) as server:
            talk = talk_to(server)
            assert (await talk.ask()).message == AssistantMessage("Yes", thinking="t")
        assert talk.spoken == ["native", "structured"]
        assert "JSON" in talk.notices[0]

    @pytest.mark.parametrize(
        "message",
        [
            "failed to parse grammar",
            "response_format is not supported",
            "Unsupported parameter: 'response_format'",
            "Unable to generate parser for this template. Automatic parser generation failed",
        ],
    )
    async def test_a_schema_that_is_refused_leaves_plain_text(self, talk_to: TalkTo, message: str) -> None:
        replies = [fails(400, NO_TOOLS), fails(400, message), REACT]
        with WireServer(replies, list_replies=[as_json(LLAMA_CPP)] * 9) as server:
            talk = talk_to(server)
            assert (await talk.ask()).message.text == "Yes"
        assert talk.spoken == ["native", "structured", "text"]
        assert len(talk.notices) == 2

    @pytest.mark.parametrize("reply", [fails(400, "max_tokens is too large"), fails(500, "out of memory"), fails(401)])
    async def test_other_failures_change_nothing(self, talk_to: TalkTo, reply: Reply) -> None:
        with WireServer([reply, CALL]) as server:
            talk = talk_to(server)
            with pytest.raises(LLMConnectionError):
                await talk.ask()
            await talk.ask()
        assert talk.spoken == ["native", "native"]
        assert talk.notices == []

    async def test_a_conversation_goes_on_in_the_other_dialect(self, talk_to: TalkTo) -> None:
        with WireServer([CALL, fails(400, NO_TOOLS), REACT]) as server:
            talk = talk_to(server)
            answer = (await talk.ask()).message
            result = ToolMessage(answer.tool_calls[0].id, "read_file", "x = 1")
            await talk.ask((*HELLO, answer, result))
        assert [message["content"] for message in server.bodies()[-1]["messages"]][1:] == [
            "Hello",
            'Action: read_file\nAction Input: {"file_path": "a.py"}',
            "Observation: x = 1",
        ]


class TestSlips:
    async def test_three_unreadable_calls_in_a_row(self, talk_to: TalkTo) -> None:
        with WireServer([BAD, BAD, CALL, BAD, BAD, BAD, REACT]) as server:
            talk = talk_to(server)
            for _ in range(6):
                await talk.ask()
                assert len(talk.notices) == (len(server.requests) == 6)
            await talk.ask()
        assert talk.spoken == ["native"] * 6 + ["text"]

    async def test_calls_that_are_cut_off_and_plain_answers_are_no_slips(self, talk_to: TalkTo) -> None:
        cut = Reply(tuple(piece.replace(b'"tool_calls"}', b'"length"}') for piece in BAD.pieces))
        with WireServer([cut, says("Hm"), cut, cut, cut]) as server:
            talk = talk_to(server)
            for _ in range(5):
                await talk.ask()
        assert talk.spoken == ["native"] * 5

    async def test_calls_the_server_itself_cannot_read(self, talk_to: TalkTo) -> None:
        unread = fails(500, "Failed to parse input at pos 0: <tool_call>x")
        with WireServer([unread, CALL, unread, unread, REACT]) as server:
            talk = talk_to(server, retries=1)
            assert (await talk.ask()).message.tool_calls
            assert (await talk.ask()).message.text == "Yes"
        assert talk.spoken == ["native"] * 4 + ["text"]

    async def test_a_schema_that_is_not_kept_to(self, talk_to: TalkTo) -> None:
        replies = [fails(400, NO_TOOLS), says("No JSON"), STEP, says("No JSON"), says("None again"), REACT]
        with WireServer(replies, list_replies=[as_json(LLAMA_CPP)] * 9) as server:
            talk = talk_to(server)
            answers = [(await talk.ask()).message.text for _ in range(5)]
        assert answers == ["No JSON", "Yes", "No JSON", "None again", "Yes"]
        assert talk.spoken == ["native"] + ["structured"] * 4 + ["text"]


class TestOpenThoughts:
    async def test_an_answer_that_began_within_a_thought_teaches_how_the_next_begins(self, talk_to: TalkTo) -> None:
        with WireServer([says("Let me see.</think>Yes"), says("I think.</think>No")]) as server:
            talk = talk_to(server)
            await talk.ask()
            assert (await talk.ask()).message == AssistantMessage("No", thinking="I think.")


class TestRequests:
    async def test_every_request_is_normalised(self, talk_to: TalkTo) -> None:
        with WireServer([CALL]) as server:
            await talk_to(server).ask((UserMessage("a"), UserMessage("b"), AssistantMessage("", thinking="x")))
        assert server.bodies()[0]["messages"] == [{"role": "user", "content": "a\n\nb"}]

    async def test_thinking_is_sent_to_the_families_that_need_it(self, talk_to: TalkTo) -> None:
        history = (*HELLO, AssistantMessage("Hi", thinking="Hm"), *HELLO)
        with WireServer([CALL]) as server:
            talk = talk_to(server)
            for model in ("qwen3", "gpt-oss:20b"):
                await talk.client.use(talk.provider, model)
                await talk.ask(history)
        sent = [body["messages"][1] for body in server.bodies()]
        assert ["reasoning_content" in message for message in sent] == [False, True]


class TestSetting:
    @pytest.mark.parametrize(("setting", "reply"), [("native", CALL), ("structured", STEP), ("text", REACT)])
    async def test_what_is_set_is_spoken(self, talk_to: TalkTo, setting: DialectSetting, reply: Reply) -> None:
        with WireServer([reply]) as server:
            talk = talk_to(server, setting)
            await talk.ask()
        assert talk.spoken == [setting]

    @pytest.mark.parametrize(("setting", "why"), [("native", NO_TOOLS), ("structured", "failed to parse grammar")])
    async def test_and_kept_to(self, talk_to: TalkTo, setting: DialectSetting, why: str) -> None:
        with WireServer([fails(400, why)]) as server:
            talk = talk_to(server, setting)
            with pytest.raises(LLMConnectionError):
                await talk.ask()
        assert (talk.spoken, talk.notices) == ([setting], [])


class TestMemory:
    async def test_the_next_session_begins_where_this_one_ended(self, talk_to: TalkTo, tmp_path: Path) -> None:
        memory = DialectMemory(tmp_path / "state" / "dialects.json")
        with WireServer([fails(400, NO_TOOLS), REACT]) as server:
            await talk_to(server, memory=memory).ask()
            later = talk_to(server, memory=DialectMemory(tmp_path / "state" / "dialects.json"))
            await later.ask()
        assert later.spoken == ["native", "text", "text"]
        assert later.notices == []

    async def test_a_refusal_that_may_mean_this_request_alone_is_not_remembered(
        self, talk_to: TalkTo, tmp_path: Path
    ) -> None:
        memory = DialectMemory(tmp_path / "dialects.json")
        with WireServer([fails(400, "Invalid tools[0]"), REACT, CALL]) as server:
            await talk_to(server, memory=memory).ask()
            later = talk_to(server, memory=memory)
            await later.ask()
        assert later.spoken == ["native", "text", "native"]

    async def test_what_is_set_counts_more_than_what_is_remembered(self, talk_to: TalkTo, tmp_path: Path) -> None:
        memory = DialectMemory(tmp_path / "dialects.json")
        with WireServer([fails(400, NO_TOOLS), REACT, CALL]) as server:
            await talk_to(server, memory=memory).ask()
            later = talk_to(server, "native", memory=memory)
            await later.ask()
        assert later.spoken[-1] == "native"

    def test_it_is_believed_for_a_week_of_this_server_and_model_alone(self, tmp_path: Path) -> None:
        now = [1_000_000.0]
        memory = DialectMemory(tmp_path / "dialects.json", clock=lambda: now[0])
        memory.remember("a", ["native"])
        now[0] += 6.9 * 24 * 3600
        memory.remember("b", ["structured", "native"])
        assert memory.recall("a") == {"native"}
        assert memory.recall("c") == set()
        now[0] += 0.2 * 24 * 3600
        assert memory.recall("a") == set()
        assert memory.recall("b") == {"structured", "native"}
        now[0] = 0
        assert memory.recall("b") == set(), "a clock that was set back"

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b'{"a": {"ruled_out": ["klingon"], "at": 1e9}}', b"\xff\xfe"]
    )
    def test_a_broken_file_is_as_good_as_none(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "dialects.json").write_bytes(content)
        memory = DialectMemory(tmp_path / "dialects.json")
        assert memory.recall("a") == set()
        memory.remember("a", ["native"])
        assert memory.recall("a") == {"native"}

    def test_a_place_that_cannot_be_written_is_no_failure(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        memory = DialectMemory(tmp_path / "file" / "dialects.json")
        memory.remember("a", ["native"])
        assert memory.recall("a") == set()
