"""An answer that says one passage over and over is broken off; prose, lists, tables and code are not."""

import pytest

from localllm.agent.completion import Chanting, ChantWatch, Repetitions
from localllm.llm.providers.base import Chunk, MessageAssembler, TextChunk, ThinkingChunk

PASSAGE = "I will now read the configuration file to find out what the port is, and then I will go on. "
PROSE = " ".join(f"Sentence number {i} says that the value of item {i * 7} differs from {i * 13}." for i in range(400))


def broken_off_at(text: str, size: int) -> int | None:
    """How many characters had come, in pieces of `size`, when the repetition was seen."""
    repetitions = Repetitions()
    for start in range(0, len(text), size):
        if repetitions.feed(text[start : start + size]):
            return start + size
    return None


@pytest.mark.parametrize("size", [1, 3, 64, 100_000])
def test_a_passage_said_ten_times_is_seen_whatever_the_pieces(size: int) -> None:
    seen = broken_off_at(PROSE[:3000] + "\n" + PASSAGE * 40, size)
    assert seen is not None
    assert 3000 + 9 * len(PASSAGE) <= seen <= max(3000 + 11 * len(PASSAGE), size)


@pytest.mark.parametrize("unit", ["ha", "now, ", "I will read that file and then I will go on now. \n"])
def test_ten_passages_end_to_end_are_enough(unit: str) -> None:
    """Fifty characters are a passage: where the unit goes into fifty, the tenth ends after five hundred."""
    assert 50 % len(unit) == 0
    assert broken_off_at(unit * 1_000, 1) == 500


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ha" * 2000, id="two letters"),
        pytest.param("Wait, let me check again. " * 60, id="a short sentence"),
        pytest.param("\n".join(["Let me read the file again and look for the error."] * 30), id="lines"),
        pytest.param("次にファイルを確認します。" * 80, id="Japanese"),
        pytest.param("".join(f"{PASSAGE}And number {i} follows here. " for i in range(30)), id="something new between"),
        pytest.param("- one\n- two\n" + PASSAGE * 30, id="after a list"),
        pytest.param("```\nx = 1\n```\n" + PASSAGE * 30, id="after code"),
    ],
)
def test_chants(text: str) -> None:
    assert broken_off_at(text, 7) is not None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PROSE, id="prose"),
        pytest.param(PASSAGE * 9, id="nine times"),
        pytest.param("\n".join([f"- {PASSAGE}"] * 40), id="a list"),
        pytest.param("\n".join(f"{i}. {PASSAGE}" for i in range(40)), id="a numbered list"),
        pytest.param("\n".join([f"| {PASSAGE} | {PASSAGE} |"] * 40), id="a table"),
        pytest.param("```python\n" + "print('the same line of code, which is rather long')\n" * 60 + "```", id="code"),
        pytest.param("~~~\n" + PASSAGE * 60 + "\n~~~\n", id="another fence"),
        pytest.param("\n".join(["    return some_function_with_a_long_name(first, second)"] * 40), id="indented code"),
        pytest.param("-" * 300, id="a rule"),
        pytest.param("\n\n".join(["=" * 120, "Title"] * 20), id="underlined titles"),
        pytest.param("\n".join([f"> {PASSAGE}"] * 40), id="a quotation"),
        pytest.param("".join(PASSAGE + PROSE[i * 400 : i * 400 + 400] for i in range(20)), id="too far apart"),
    ],
)
def test_no_chants(text: str) -> None:
    assert broken_off_at(text, 7) is None


def kept(*chunks: Chunk) -> tuple[str, str]:
    """The text and the thinking that are kept of an answer that is broken off."""
    gathered, watch = MessageAssembler(), ChantWatch()

    def listen() -> None:
        for chunk in chunks:
            gathered.add(chunk)
            watch.see(chunk)

    with pytest.raises(Chanting) as broken:
        listen()
    completion = broken.value.completion(gathered)
    assert completion.finish_reason == "chanting"
    return completion.message.text, completion.message.thinking


def test_the_answer_is_kept_with_the_passage_once() -> None:
    text, _ = kept(*[TextChunk(piece) for piece in ("The port is 80. ", *[PASSAGE] * 20)])
    assert text == f"The port is 80. {PASSAGE}[broken off: it repeated itself]"


def test_thinking_is_watched_on_its_own() -> None:
    text, thinking = kept(ThinkingChunk("Hm. "), *[ThinkingChunk(PASSAGE)] * 20)
    assert (text, thinking) == ("[broken off: it repeated itself]", f"Hm. {PASSAGE}".strip())


def rounds_until_broken_off(*chunks: TextChunk | ThinkingChunk) -> int:
    watch = ChantWatch()
    for number in range(1, 40):
        try:
            for chunk in chunks:
                watch.see(chunk)
        except Chanting:
            return number
    return 0


def test_text_and_thinking_are_not_added_up() -> None:
    alone = rounds_until_broken_off(TextChunk(PASSAGE))
    assert alone == rounds_until_broken_off(TextChunk(PASSAGE), ThinkingChunk(PASSAGE)) > 1


def test_the_memory_it_takes_does_not_grow() -> None:
    repetitions = Repetitions()
    for number in range(20_000):
        repetitions.feed(f"{number * 7919 % 100_003} and ")
    assert len(repetitions._newest) <= 2_300
    assert len(repetitions._places) <= 2_300
