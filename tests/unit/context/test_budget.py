"""How the window is shared out, and what a request is weighed as."""

import pytest

from localllm.context.budget import Budget, Scale
from localllm.llm.client import LLMClient
from localllm.llm.messages import Message, SystemMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import ModelInfo
from tests.support.agents import scripted
from tests.unit.llm.test_client import Asked

pytestmark = pytest.mark.anyio

LOOK = ToolSpec("look", "Look at it closely, from all sides.", {"type": "object", "properties": {}})
SHARES = ("reserve", "most", "room", "low", "words", "low_words", "pruned", "summary")


def client(window: int = 4_096) -> LLMClient:
    return LLMClient(scripted("hello"), model="m", context_window=window)


@pytest.mark.parametrize(
    ("budget", "shares"),
    [
        (Budget(window=10_000, fixed=1_000, limit=8_000), (2_000, 8_000, 7_000, 3_800, 1_166, 583, 7_300, 1_000)),
        (
            Budget(window=10_000, fixed=1_000, limit=8_000, factor=2.0),
            (2_000, 4_000, 3_000, 2_200, 500, 250, 3_700, 750),
        ),
        (Budget(window=2_000, fixed=500, limit=1_700), (300, 1_700, 1_200, 980, 200, 100, 1_580, 256)),
        (
            Budget(window=100_000, fixed=1_000, limit=85_000),
            (15_000, 85_000, 84_000, 34_600, 14_000, 7_000, 76_600, 1_600),
        ),
        (Budget(window=1_000, fixed=900, limit=750), (250, 750, 0, 900, 0, 0, 750, 1)),
    ],
    ids=["usual", "a server that counts twice as many", "small", "large", "what is fixed is too long"],
)
def test_how_a_window_is_shared_out(budget: Budget, shares: tuple[int, ...]) -> None:
    assert tuple(getattr(budget, share) for share in SHARES) == shares


def test_the_tools_are_in_every_request_and_not_in_its_messages() -> None:
    asked, system = client(), SystemMessage("You are a coding agent.")
    messages: tuple[Message, ...] = (system, UserMessage("Hello."))
    with_tools, without = Scale(asked, (LOOK,), 0.85), Scale(asked, (), 0.85)
    tools = with_tools.request(messages) - without.request(messages)
    assert tools > 10
    assert with_tools.expected(messages) - without.expected(messages) == tools
    assert with_tools.budget(system).fixed - without.budget(system).fixed == pytest.approx(tools, abs=1)
    assert with_tools.messages(messages) == without.messages(messages)
    assert without.budget(system).fixed == without.request((system,)) < without.request(messages)
    assert with_tools.budget(system, factor=1.5).factor == 1.5


def test_a_conversation_is_full_beyond_the_limit() -> None:
    scale, system = Scale(client(2_000), (LOOK,), 0.5), SystemMessage("s")
    limit = scale.budget(system).limit
    assert limit == 1_000
    text = next("x" * n for n in range(3_400, 4_000) if scale.expected((system, UserMessage("x" * n))) >= limit)
    assert scale.expected((system, UserMessage(text))) == limit
    assert not scale.is_full((system, UserMessage(text)))
    assert scale.is_full((system, UserMessage(text + "x" * 4)))


async def test_what_the_server_has_counted_decides_whether_it_is_full() -> None:
    asked = LLMClient(Asked(ModelInfo("m", context_window=4_096), 3_900), model="m")
    messages: tuple[Message, ...] = (SystemMessage("s"), UserMessage("word " * 1_000))
    assert not Scale(asked, (), 0.85).is_full(messages)
    await asked.complete(messages)
    assert Scale(asked, (), 0.85).is_full(messages)
