"""The scripted provider: a file of turns, played once each."""

import os
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError, LLMConnectionError
from localllm.llm.client import LLMClient
from localllm.llm.messages import AssistantMessage, SystemMessage, UserMessage
from localllm.llm.providers.scripted import DEMO, DEMO_IN_JAPANESE, Scripted, load_script

pytestmark = pytest.mark.anyio

HELLO = (SystemMessage("You help."), UserMessage("Hello"))


def script(folder: Path, text: str) -> Scripted:
    file = folder / "script.toml"
    file.write_text(text, encoding="utf-8")
    return Scripted(load_script(file), address=file.name)


async def test_turns_are_played_in_order_with_all_their_parts(tmp_path: Path) -> None:
    client = LLMClient(
        script(
            tmp_path,
            """
            [[turn]]
            thinking = "Hm, where?"
            text = "I will  look.\\n"
            calls = [{ name = "list_files", arguments = { path = "日本" } }, { name = "x", arguments = '{"cut": ' }]
            [[turn]]
            text = "Done."
            finish = "length"
            """,
        )
    )
    first = await client.complete(HELLO)
    assert first.message.text == "I will  look.\n"
    assert first.message.thinking == "Hm, where?"
    assert [(call.name, call.arguments) for call in first.message.tool_calls] == [
        ("list_files", '{"path":"日本"}'),
        ("x", '{"cut": '),
    ]
    assert first.finish_reason == "tool_calls"
    second = await client.complete(HELLO)
    assert (second.message, second.finish_reason) == (AssistantMessage("Done."), "length")
    with pytest.raises(LLMConnectionError) as caught:
        await client.complete(HELLO)
    assert caught.value.key == "llm_script_ended"


async def test_failures_are_played_as_a_server_would_fail(tmp_path: Path) -> None:
    provider = script(
        tmp_path, '[[turn]]\nfail = "busy"\n[[turn]]\ntext = "well again"\n[[turn]]\ntext = "ha"\nfail = "cut"'
    )
    client = LLMClient(provider)
    assert (await client.complete(HELLO)).message.text == "well again"
    with pytest.raises(LLMConnectionError) as caught:
        await client.complete(HELLO)
    assert caught.value.key == "llm_cut"


@pytest.mark.parametrize(
    "text", ["", "[[turn]]\nwords = 'x'", "turn = 3", "[[turn]\n", "[[turn]]\ntext = 1", '[[turn]]\nfail = "badly"']
)
def test_a_file_that_is_no_script_says_what_is_wrong(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        script(tmp_path, text)
    assert caught.value.key == "script_invalid"
    assert "script.toml" in str(caught.value)


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_script(tmp_path / "none.toml")
    assert caught.value.key == "script_unreadable"


@pytest.mark.parametrize("demo", [DEMO, DEMO_IN_JAPANESE])
def test_the_demo_is_a_script(demo: Path) -> None:
    calls = [call.name for turn in load_script(demo).turn for call in turn.calls]
    assert calls == ["list_files", "search_files", "read_file"]


async def test_a_script_can_be_repeated(tmp_path: Path) -> None:
    client = LLMClient(script(tmp_path, 'repeat = true\n[[turn]]\ntext = "one"\n[[turn]]\ntext = "two"'))
    said = [(await client.complete(HELLO)).message.text for _ in range(5)]
    assert said == ["one", "two", "one", "two", "one"]


def test_what_is_no_file_of_a_sensible_size_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(20_000_000)
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "long", Path("/dev/zero")):
        with pytest.raises(ConfigurationError) as caught:
            load_script(place)
        assert caught.value.key == "script_unreadable"
