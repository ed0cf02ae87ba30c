"""Estimates of tokens, and what the counts of servers teach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.base.events import ToolCall
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from localllm.llm.tokens import (
    LEAST_RATIO,
    MOST_RATIO,
    TOKENS_PER_MESSAGE,
    Calibration,
    estimate_tokens,
    measure,
    prompt_texts,
)
from tests.support.call_count import calls_in
from tests.support.pictures import PNG

ENGLISH = (UserMessage("The quick brown fox jumps over the lazy dog. " * 40),)
JAPANESE = (UserMessage("昔々あるところにおじいさんとおばあさんが住んでいました。" * 20),)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("a" * 36, 10), ("日本語", 3), ("日本語 abc", 4), ("é", 1)]
)
def test_an_estimate_before_any_count(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_halves_of_surrogate_pairs_are_measured() -> None:
    assert estimate_tokens("\udce4") == 1


def test_all_that_the_model_reads_is_counted() -> None:
    call = ToolCall("c1", "look", '{"a": 1}')
    messages = (
        SystemMessage("s"),
        UserMessage("u"),
        AssistantMessage("x", (call,), "hm"),
        ToolMessage("c1", "look", "r"),
    )
    tools = (ToolSpec("look", "Look.", {"type": "object"}),)
    texts = list(prompt_texts(messages, tools))
    assert texts[1:] == ["s", "u", "x", 'look{"a": 1}', "r"]
    assert '"Look."' in texts[0]
    assert next(prompt_texts(messages, ())) == "s"


MESSAGES = st.sampled_from(
    [
        SystemMessage("s"),
        UserMessage("u é", (PNG,)),
        UserMessage("日本"),
        AssistantMessage("a", (ToolCall("1", "t", ""),)),
    ]
)


@given(st.lists(st.lists(MESSAGES, max_size=6), max_size=12))
def test_what_was_estimated_before_changes_no_estimate(conversations: list[list[Message]]) -> None:
    calibration = Calibration()
    for messages in conversations:
        assert calibration.weigh(messages, ()) == Calibration().weigh(messages, ())


def test_of_a_conversation_only_what_is_new_is_measured() -> None:
    calibration = Calibration()
    conversation = tuple(UserMessage(f"word {number}") for number in range(500))
    parts = [conversation[:450], conversation[:1], conversation[440:450]]
    first, *_ = [calls_in(lambda part=part: calibration.estimate_prompt(part, ())) for part in parts]
    assert calls_in(lambda: calibration.estimate_prompt(conversation, ())) < first / 5


def counted(messages: tuple[UserMessage, ...], ratio: float) -> int:
    return round(sum(sum(measure(message.text)) for message in messages) * ratio) + TOKENS_PER_MESSAGE * len(messages)


@pytest.mark.parametrize("ratio", [0.6, 0.8, 1.3, 1.9])
def test_counts_move_the_estimate_to_them(ratio: float) -> None:
    calibration = Calibration()
    far = abs(calibration.estimate_prompt(ENGLISH, ()) - counted(ENGLISH, ratio))
    for _ in range(6):
        calibration.learn(ENGLISH, (), counted(ENGLISH, ratio))
        nearer = abs(calibration.estimate_prompt(ENGLISH, ()) - counted(ENGLISH, ratio))
        assert nearer < far or nearer <= 1
        far = nearer
    assert calibration.narrow == pytest.approx(ratio, rel=0.03)


def test_each_script_learns_for_itself() -> None:
    calibration = Calibration()
    for _ in range(6):
        calibration.learn(JAPANESE, (), counted(JAPANESE, 0.7))
    assert calibration.wide == pytest.approx(0.7, rel=0.03)
    assert calibration.narrow == 1.0
    assert calibration.estimate("plain English") == estimate_tokens("plain English")


def test_of_mixed_text_the_other_script_is_taken_off_first() -> None:
    mixed = (UserMessage(JAPANESE[0].text + ENGLISH[0].text[:300]),)
    calibration = Calibration()
    narrow, wide = measure(mixed[0].text)
    for _ in range(8):
        calibration.learn(mixed, (), round(narrow + wide * 0.7) + TOKENS_PER_MESSAGE)
    assert calibration.wide == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize("ratio", [0.1, 0.4, 2.5, 9.0])
def test_a_count_no_tokenizer_explains_teaches_nothing(ratio: float) -> None:
    calibration = Calibration()
    calibration.learn(ENGLISH, (), counted(ENGLISH, ratio))
    assert (calibration.narrow, calibration.counts) == (1.0, 0)


def test_the_ratios_stay_within_their_bounds() -> None:
    calibration = Calibration()
    for ratio in (LEAST_RATIO, MOST_RATIO):
        for _ in range(20):
            calibration.learn(ENGLISH, (), counted(ENGLISH, ratio))
        assert LEAST_RATIO <= calibration.narrow <= MOST_RATIO


def test_a_short_prompt_teaches_nothing() -> None:
    calibration = Calibration()
    calibration.learn((UserMessage("Hello"),), (), 3)
    assert calibration.counts == 0
