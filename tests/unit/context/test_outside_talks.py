"""What was said and done is in the hand-off, whether no model sums it up or one that does it badly."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.base.events import ToolCall
from localllm.context.budget import Scale
from localllm.context.context_manager import Compactor
from localllm.context.conversation import Conversation, Spoken
from localllm.context.pruning import nothing
from localllm.context.summary import Summariser
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from localllm.llm.providers.scripted import Scripted
from tests.support.agents import scripted

pytestmark = pytest.mark.anyio

FILE = Path(__file__).parent / "outside-talks.toml"
TALKS: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["talk"]
POOR = """\
## Goal
Go on with the work.
## Done
Some files were looked at and changed, and there was a problem with a command.
## Next
Continue."""


class Summing(Scripted):
    """A script that counts as a model."""

    name = "told"


class Talk:
    """A conversation, from the lines of a talk."""

    def __init__(self, turns: list[list[str]]) -> None:
        self.messages: list[Message] = [SystemMessage("system")]
        self.spoken: list[Spoken] = []
        for turn in turns:
            self._take(turn)
        self.messages.append(AssistantMessage("I stopped here."))

    @property
    def conversation(self) -> Conversation:
        return Conversation(tuple(self.messages), tuple(self.spoken))

    def _take(self, turn: list[str]) -> None:
        match turn:
            case ["user", words]:
                if isinstance(self.messages[-1], ToolMessage):
                    self.messages.append(AssistantMessage("Done with that."))
                self.messages.append(UserMessage(f"{words}\n\n[Project p, 2026-01-02.]"))
                self._say(words)
            case ["steer", words]:
                last = self.messages[-1]
                assert isinstance(last, ToolMessage)
                self.messages[-1] = ToolMessage(last.call_id, last.name, f"{last.text}\n\n[steer] {words}")
                self._say(words)
            case ["say", text]:
                self.messages.append(AssistantMessage(text))
            case ["read", path, text]:
                self._call("read_file", _bulk(text), file_path=path)
            case ["write", path, content]:
                self._call("write_file", f"Wrote {path}.", file_path=path, content=content)
            case ["edit", path, old, new]:
                self._call("edit_file", f"Edited {path}.", file_path=path, old_text=old, new_text=new)
            case ["edit_fails", path, old, error]:
                self._call("edit_file", error, file_path=path, old_text=old, new_text="x")
            case ["run", command, status, output]:
                ending = "" if status == "0" else f"Exit code {status}.\n"
                self._call("run_command", ending + output, command=command)
            case _:
                raise ValueError(turn)

    def _say(self, words: str) -> None:
        self.spoken.append(Spoken(words, len(self.messages) - 1))

    def _call(self, name: str, result: str, **arguments: str) -> None:
        call = ToolCall(f"c{len(self.messages)}", name, json.dumps(arguments, ensure_ascii=False))
        self.messages += [AssistantMessage("", (call,)), ToolMessage(call.id, name, result)]


def _bulk(text: str) -> str:
    if not text.startswith("@BULK:"):
        return text
    line, _, count = text.removeprefix("@BULK:").rpartition(":")
    return "\n".join(line.replace("%d", str(number)) for number in range(int(count)))


async def hand_off(conversation: Conversation, summary: str = "") -> Conversation:
    script = scripted(summary)._script
    client = LLMClient(Summing(script) if summary else Scripted(script), model="m", context_window=8_192)
    scale = Scale(client, (), 0.85)
    compactor = Compactor(Summariser(client), str, lambda _: nothing)
    made = await compactor.compact(conversation, scale, scale.budget(conversation.messages[0]), by_hand=True)
    assert made.why == ("" if summary else "no model")
    return made.conversation


def missing(talk: dict[str, Any], conversation: Conversation) -> list[str]:
    head = conversation.messages[1].text
    return [text for text in talk["must"] if text not in head] + [text for text in talk["must_not"] if text in head]


@pytest.mark.parametrize("talk", TALKS, ids=[talk["name"] for talk in TALKS])
class TestAHandOff:
    async def test_without_a_model(self, talk: dict[str, Any]) -> None:
        assert not missing(talk, await hand_off(Talk(talk["turns"]).conversation))

    async def test_with_a_summary_that_says_nothing(self, talk: dict[str, Any]) -> None:
        lost = missing(talk, await hand_off(Talk(talk["turns"]).conversation, POOR))
        assert bool(lost) == ("limit" in talk), lost

    async def test_a_second_one_on_top_keeps_what_the_first_has_kept(self, talk: dict[str, Any]) -> None:
        first = await hand_off(Talk(talk["turns"]).conversation, POOR)
        more = (UserMessage("go on"), AssistantMessage("What else?"))
        spoken = (*first.spoken, Spoken("go on", len(first.messages)))
        second = await hand_off(Conversation((*first.messages, *more), spoken), POOR)
        assert missing(talk, second) == missing(talk, first)
