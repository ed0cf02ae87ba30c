"""Estimate tokens of texts and pictures before a server has counted them, and calibrate the estimate."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, Image, Message, ToolMessage, ToolSpec, UserMessage
from localllm.text.file_type import HEAD, picture_in

PIXELS_PER_TOKEN = 28 * 28
"""Of the families that look at a picture in its own size (Qwen-VL, Pixtral): patches of 14 pixels, merged two by two
(https://arxiv.org/abs/2409.12191, section 2.1). No common family takes more tokens for a picture."""

LEAST_PICTURE = 256
"""What Gemma 3 takes for each, whatever its size (https://arxiv.org/abs/2503.19786, section 2.1)."""

MOST_PICTURE = 4_096
"""What llama.cpp, and Ollama with it, shrinks a larger one to for those families."""

UNKNOWN_PICTURE = 1_024
"""For one whose size its first bytes do not tell."""


def picture_tokens(image: Image) -> int:
    """The tokens of a picture by its width and height: rather too many, for some families take 256 for any."""
    picture = picture_in(image.data[:HEAD])
    if picture is None or not picture.width or not picture.height:
        return UNKNOWN_PICTURE
    return min(MOST_PICTURE, max(LEAST_PICTURE, -(-picture.width * picture.height // PIXELS_PER_TOKEN)))


def pictures_in(messages: Iterable[Message]) -> Iterator[Image]:
    """The pictures the messages carry."""
    for message in messages:
        if isinstance(message, UserMessage | ToolMessage):
            yield from message.images


BYTES_PER_TOKEN = 3.6
"""Of Latin text and code, over the tokenizers of the common local families."""

TOKENS_PER_WIDE_CHARACTER = 1.0
"""Of Japanese, Chinese and Korean characters, over the same tokenizers."""

TOKENS_PER_MESSAGE = 4
"""What a chat template puts around each message: its role and its borders, in the common families 3 to 5 tokens."""

LEAST_RATIO, MOST_RATIO = 0.5, 2.0
"""No tokenizer in use is further off the estimate; a count that is tells of something else than of the tokenizer."""

LEAST_PICTURES, MOST_PICTURES = 1 / 64, 2.0
"""The same of pictures, which families are further apart about: a model may see a small one where another sees all."""

_BESIDE = 5
"""A text that is so many times as long as its pictures hides in its own error what they are."""

_ASCII_MARGIN = 1.3
"""So many times as long as estimated an ASCII text is at most, but for one of numbers or letters without sense."""

_WEIGHT = 0.5
"""Of a new count against all that were before."""

_TELLING = 50
"""Tokens a prompt must have for its count to teach anything."""

_FIRST_WIDE = "\u2e80"


class Size(NamedTuple):
    """A text in tokens, as estimated without any calibration: its Latin part and its wide characters."""

    narrow: float
    wide: float


@lru_cache(maxsize=1024)
def measure(text: str) -> Size:
    """The size of `text`. A conversation is measured before each of its requests, and only its end is new."""
    if text.isascii():
        return Size(len(text) / BYTES_PER_TOKEN, 0.0)
    wide = [character for character in text if character >= _FIRST_WIDE]
    wide_bytes = len("".join(wide).encode("utf-8", "surrogatepass"))
    narrow_bytes = len(text.encode("utf-8", "surrogatepass")) - wide_bytes
    return Size(narrow_bytes / BYTES_PER_TOKEN, len(wide) * TOKENS_PER_WIDE_CHARACTER)


def estimate_tokens(text: str) -> int:
    """An estimate of the tokens in `text`, never 0 for a text that is not empty."""
    return Calibration().estimate(text)


def prompt_texts(messages: Iterable[Message], tools: Sequence[ToolSpec]) -> Iterator[str]:
    """All the text of a request that the model reads."""
    if tools:
        yield encode_json(tools).decode()
    for message in messages:
        yield message.text
        if isinstance(message, AssistantMessage):
            yield from (call.name + call.arguments for call in message.tool_calls)


def margin_of(texts: Iterable[str]) -> float:
    """How many times as long as estimated the texts together may be, where no count has taught anything yet: the more
    of them is in other scripts, which tokenizers are most apart about, the more."""
    ascii_bytes = all_bytes = 0
    for text in texts:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        all_bytes += size
        ascii_bytes += size if text.isascii() else len(text.encode("ascii", "ignore"))
    return MOST_RATIO - (MOST_RATIO - _ASCII_MARGIN) * (ascii_bytes / all_bytes if all_bytes else 1.0)


class Calibration:
    """How far the estimates are off for one model: a ratio for Latin text and one for wide characters, each a moving
    average of what the counts of its server say; and one for pictures (see pictures.py), of which the first count
    says more than the estimate."""

    def __init__(self) -> None:
        self.narrow = 1.0
        self.wide = 1.0
        self.pictures = 1.0
        self.counts = 0
        """How many counts it has learned from."""
        self._seen = 0

    def estimate(self, text: str) -> int:
        """The tokens in `text`, never 0 for a text that is not empty."""
        narrow, wide = measure(text)
        return max(1, round(narrow * self.narrow + wide * self.wide)) if text else 0

    def estimate_prompt(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0, pictures: bool = True
    ) -> int:
        """The tokens of a whole request, its text `margin` times. `pictures`: with those in it."""
        texts = sum(self.estimate(text) for text in prompt_texts(messages, tools)) + TOKENS_PER_MESSAGE * len(messages)
        return int(margin * texts) + (self.estimate_pictures(messages) if pictures else 0)

    def estimate_pictures(self, messages: Sequence[Message]) -> int:
        """The tokens of the pictures in the messages."""
        return round(self.pictures * _pictures(messages))

    def learn(self, messages: Sequence[Message], tools: Sequence[ToolSpec], counted: int) -> None:
        """Take note that a request, or a part of one, had `counted` tokens. What most of it is (Latin text, wide
        characters, pictures) learns from it; a count no tokenizer explains (a part of the prompt was dropped, or not
        counted) teaches nothing."""
        sizes = [measure(text) for text in prompt_texts(messages, tools)]
        narrow, wide = sum(size.narrow for size in sizes), sum(size.wide for size in sizes)
        words = counted - TOKENS_PER_MESSAGE * len(messages)
        pictures = _pictures(messages)
        is_most = self.pictures * pictures > narrow + wide
        if is_most or (not self._seen and _BESIDE * pictures > narrow + wide):
            self._learn_pictures(pictures, words, narrow * self.narrow + wide * self.wide)
            return
        words -= round(self.pictures * pictures)
        if narrow + wide < _TELLING or not LEAST_RATIO <= words / (narrow + wide) <= MOST_RATIO:
            return
        if wide > narrow:
            self.wide = self._moved(self.wide, (words - narrow * self.narrow) / wide)
        else:
            self.narrow = self._moved(self.narrow, (words - wide * self.wide) / narrow)
        self.counts += 1

    def _learn_pictures(self, estimate: int, counted: int, text: float) -> None:
        """`counted`: the tokens of the pictures and the text; `text`: those of the text alone, as estimated. Where that
        is too many, the pictures are few: they must not keep the text from being learned."""
        if counted <= LEAST_RATIO * text:
            return
        told = max(0.0, counted - text) / estimate
        moved = self.pictures + _WEIGHT * (told - self.pictures) if self._seen else told
        self.pictures = min(MOST_PICTURES, max(LEAST_PICTURES, moved))
        self._seen += 1

    def _moved(self, before: float, told: float) -> float:
        return min(MOST_RATIO, max(LEAST_RATIO, before + _WEIGHT * (told - before)))


def _pictures(messages: Sequence[Message]) -> int:
    """The tokens of the pictures in the messages, without any calibration."""
    return sum(map(picture_tokens, pictures_in(messages)))
