"""Estimate tokens before a request, account for those that were used."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from localllm.base.events import Usage
from localllm.base.i18n import _
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.base.memo import Memo
from localllm.llm.messages import AssistantMessage, Image, Message, ToolMessage, ToolSpec, UserMessage
from localllm.llm.providers.base import UsageChunk
from localllm.llm.retry import Stopwatch
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

_CONVERSATIONS = 8
"""Whose weights are remembered: that of a run and of its sub-agents, and parts of them."""

_NARROW = late_pattern("[\0-\u2e7f]+")
"""What is not Japanese, Chinese or Korean."""


class Size(NamedTuple):
    """A text in tokens, as estimated without any calibration: its Latin part and its wide characters."""

    narrow: float
    wide: float


def _measure(text: str) -> Size:
    if text.isascii():
        return Size(len(text) / BYTES_PER_TOKEN, 0.0)
    wide = _NARROW.sub("", text)
    wide_bytes = len(wide.encode("utf-8", "surrogatepass"))
    narrow_bytes = len(text.encode("utf-8", "surrogatepass")) - wide_bytes
    return Size(narrow_bytes / BYTES_PER_TOKEN, len(wide) * TOKENS_PER_WIDE_CHARACTER)


measure = Memo(_measure, lambda text, _: 4 * len(text), 8_000_000)
"""The size of a text, remembered: a conversation is measured with each of its requests."""


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


class Weight(NamedTuple):
    """A request, or a part of one: its text and its pictures in tokens, as estimated without any calibration; the bytes
    of its text, and how many of them are ASCII."""

    narrow: float = 0.0
    wide: float = 0.0
    pictures: int = 0
    bytes: int = 0
    ascii_bytes: int = 0

    def with_text(self, text: str) -> "Weight":
        """The same with a text more."""
        narrow, wide = measure(text)
        size = ascii_size = len(text)
        if not text.isascii():
            size, ascii_size = len(text.encode("utf-8", "surrogatepass")), len(text.encode("ascii", "ignore"))
        return Weight(
            self.narrow + narrow, self.wide + wide, self.pictures, self.bytes + size, self.ascii_bytes + ascii_size
        )

    def with_message(self, message: Message) -> "Weight":
        """The same with a message more."""
        weight = self._replace(pictures=self.pictures + sum(map(picture_tokens, pictures_in((message,)))))
        for text in prompt_texts((message,), ()):
            weight = weight.with_text(text)
        return weight

    @property
    def margin(self) -> float:
        """How many times as long as estimated the text may be, where no count has taught anything yet: the more of it
        is in other scripts, which tokenizers are most apart about, the more."""
        return MOST_RATIO - (MOST_RATIO - _ASCII_MARGIN) * (self.ascii_bytes / self.bytes if self.bytes else 1.0)


class Weights:
    """Weighs conversations. One is weighed several times for each of its requests, and only its end is new."""

    def __init__(self) -> None:
        self._known: list[tuple[tuple[Message, ...], Weight]] = []
        """The newest last."""

    def of(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Weight:
        """The weight of a request."""
        messages = tuple(messages)
        beginnings = [known for known in self._known if messages[: len(known[0])] == known[0]]
        before, weight = max(beginnings, key=lambda known: len(known[0]), default=((), Weight()))
        for message in messages[len(before) :]:
            weight = weight.with_message(message)
        others = [known for known in self._known if known[0] is not before]
        self._known = [*others[1 - _CONVERSATIONS :], (messages, weight)]
        return weight.with_text(encode_json(tools).decode()) if tools else weight


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
        self._weights = Weights()

    def weigh(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Weight:
        """The weight of a request, which no count changes."""
        return self._weights.of(messages, tools)

    def estimate(self, text: str) -> int:
        """The tokens in `text`, never 0 for a text that is not empty."""
        narrow, wide = measure(text)
        return max(1, round(narrow * self.narrow + wide * self.wide)) if text else 0

    def estimate_prompt(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0, pictures: bool = True
    ) -> int:
        """The tokens of a whole request, its text `margin` times. `pictures`: with those in it."""
        weight = self.weigh(messages, tools)
        texts = round(weight.narrow * self.narrow + weight.wide * self.wide) + TOKENS_PER_MESSAGE * len(messages)
        return int(margin * texts) + (round(self.pictures * weight.pictures) if pictures else 0)

    def learn(self, messages: Sequence[Message], tools: Sequence[ToolSpec], counted: int) -> None:
        """Take note that a request, or a part of one, had `counted` tokens. What most of it is (Latin text, wide
        characters, pictures) learns from it; a count no tokenizer explains (a part of the prompt was dropped, or not
        counted) teaches nothing."""
        narrow, wide, pictures, *_bytes = self.weigh(messages, tools)
        words = counted - TOKENS_PER_MESSAGE * len(messages)
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


_FAR_BELOW = 0.6
"""Of the estimate: a count below that is no matter of the tokenizer, whose ratio the estimate has."""

_TAUGHT = 1.25
"""So many times as long as estimated a request may be that continues none, once counts have taught the estimate: a
summary, or the first request of a sub-agent."""

_SURE_AFTER = 2
"""Counts a calibration has learned from before it is believed against a window nobody has told."""

_AT_THE_EDGE = 0.97
"""Of a window: a prompt that was cut to fit ends within a few tokens of it."""

_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 8))
"""What servers are set to where nobody has said anything: 2,048 tokens to 131,072."""


class Exchange(msgspec.Struct, frozen=True):
    """A request and its answer. `counted` is None where the server reported nothing."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    answer: AssistantMessage
    counted: UsageChunk | None


class Accounting:
    """Counts for one client, with a calibration of its own for each model."""

    def __init__(self) -> None:
        self._calibrations: defaultdict[str, Calibration] = defaultdict(Calibration)
        self._has_warned = False
        self._counted: dict[str, tuple[tuple[Message, ...], int]] = {}
        """The newest request whose count is believed, and that count, by model."""
        self._filled: dict[tuple[str, int], int] = {}
        """The estimate of the newest prompt that was counted as if it just filled a window, by model and window."""
        self._evident: dict[str, int] = {}

    def evident_window(self, model: str) -> int:
        """The window the server of `model` evidently has, in tokens, whatever it says of it: prompts of different
        length, all far longer, were counted as if they just filled it. 0 where nothing gives that away."""
        return self._evident.get(model, 0)

    def forget_windows(self) -> None:
        """Another server, or the same with other settings, is asked from now on."""
        self._filled.clear()
        self._evident.clear()

    def estimate(self, model: str, text: str) -> int:
        """The tokens `text` is for `model`."""
        return self._calibrations[model].estimate(text)

    def estimate_prompt(self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """The tokens a request is for `model`."""
        return self._calibrations[model].estimate_prompt(messages, tools)

    def learn(self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], counted: int) -> None:
        """Take note that a request had `counted` tokens, as its server says in refusing it."""
        self._calibrations[model].learn(messages, tools, counted)

    def has_counted(self, model: str) -> bool:
        """Whether a server's count has taught anything of `model`."""
        return self._calibrations[model].counts > 0

    def expect_prompt(
        self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0
    ) -> int:
        """The tokens a request is for `model`: those counted of the request it continues, and the rest estimated,
        `margin` times. All is estimated where that is more, or it continues none; the margin is smaller then: what
        counts have taught of the estimate, or else what its script tells, for there is no room to double all of it."""
        calibration = self._calibrations[model]
        if (count := self._count_of_beginning(model, messages)) is None:
            untaught = calibration.weigh(messages, tools).margin
            known = min(margin, _TAUGHT if calibration.counts else untaught)
            return calibration.estimate_prompt(messages, tools, margin=known)
        before, counted = count
        new = calibration.estimate_prompt(messages[before:], (), margin=margin)
        return max(calibration.estimate_prompt(messages, tools), counted + new)

    def _count_of_beginning(self, model: str, messages: Sequence[Message]) -> tuple[int, int] | None:
        """How many messages of a request were in the newest one already, and the tokens counted then; None where it
        does not continue that one."""
        before, counted = self._counted.get(model, ((), 0))
        return (len(before), counted) if before and tuple(messages[: len(before)]) == before else None

    def settle(self, exchange: Exchange, watch: Stopwatch, window: int, *, assumed: bool) -> tuple[Usage, str]:
        """The cost of an answer, and a warning where its count shows that the server has read only a part of the
        prompt; the warning is empty otherwise, and after the first one. `window` is the model's, in tokens, `assumed`
        where nobody has told it."""
        usage = self._usage(exchange, watch)
        counted = exchange.counted
        if counted is None or counted.prompt_tokens <= 0:
            return usage, ""
        calibration = self._calibrations[exchange.model]
        # what a family makes of pictures is a guess: it must not look as if a part had been dropped
        estimate = calibration.estimate_prompt(exchange.messages, exchange.tools, pictures=False)
        sure = assumed and calibration.counts >= _SURE_AFTER
        gives_away = self._learn_window(exchange.model, counted.prompt_tokens, estimate)
        if gives_away or was_cut(counted.prompt_tokens, estimate, window, assumed=assumed, sure=sure):
            return usage, self._warning(counted.prompt_tokens, estimate)
        self._learn_from(calibration, exchange, counted.prompt_tokens)
        self._counted[exchange.model] = (tuple(exchange.messages), counted.prompt_tokens)
        return usage, ""

    def _learn_from(self, calibration: Calibration, exchange: Exchange, counted: int) -> None:
        """Where pictures are new, the count of what is new tells of them; else that of all."""
        before = self._count_of_beginning(exchange.model, exchange.messages)
        new = exchange.messages[before[0] :] if before else ()
        if before and any(pictures_in(new)):
            calibration.learn(new, (), counted - before[1])
        else:
            calibration.learn(exchange.messages, exchange.tools, counted)

    def _learn_window(self, model: str, counted: int, estimate: int) -> bool:
        """Whether this count shows what window the server has: a longer prompt was counted at the same edge before,
        and it has grown by less than is counted, which cannot be the new part of it alone."""
        if counted > self._evident.get(model, counted):
            del self._evident[model]  # it does read more
        if not (edge := filled_window(counted, estimate)):
            return False
        before = self._filled.get((model, edge), estimate)
        self._filled[model, edge] = estimate
        if not before < estimate < before + _FAR_BELOW * counted:
            return False
        self._evident[model] = edge
        return True

    def _usage(self, exchange: Exchange, watch: Stopwatch) -> Usage:
        usage = self._counts(exchange)
        counted = exchange.counted
        return msgspec.structs.replace(
            usage,
            first_token_seconds=watch.first,
            total_seconds=watch.total,
            generation_seconds=(counted and counted.generation_seconds) or watch.generation,
        )

    def _counts(self, exchange: Exchange) -> Usage:
        if counted := exchange.counted:
            return Usage(
                prompt_tokens=counted.prompt_tokens,
                completion_tokens=counted.completion_tokens,
                cached_tokens=counted.cached_tokens,
            )
        answer = exchange.answer
        said = answer.text + answer.thinking + "".join(call.arguments for call in answer.tool_calls)
        return Usage(
            prompt_tokens=self.estimate_prompt(exchange.model, exchange.messages, exchange.tools),
            completion_tokens=self.estimate(exchange.model, said),
            estimated=True,
        )

    def _warning(self, counted: int, estimate: int) -> str:
        if self._has_warned:
            return ""
        self._has_warned = True
        return _(
            "The server counted {counted} tokens of about {estimate} that were sent: it has "
            "dropped a part of the conversation without a word. Load the model with a larger "
            "context (Ollama: num_ctx, which llm.context_window sets, or OLLAMA_CONTEXT_LENGTH; "
            "LM Studio: Context Length; llama.cpp: -c), or begin anew with /clear.",
            counted=f"{counted:,}",
            estimate=f"{estimate:,}",
        )


def filled_window(counted: int, estimate: int) -> int:
    """The usual window that a prompt of about `estimate` tokens just fills by the server's count, though it is far
    longer; 0 where there is none."""
    if counted >= _FAR_BELOW * estimate:
        return 0
    return next((edge for edge in _USUAL_WINDOWS if _AT_THE_EDGE * edge <= counted <= edge), 0)


def was_cut(counted: int, estimate: int, window: int, *, assumed: bool, sure: bool) -> bool:
    """Whether a prompt of about `estimate` tokens, of which the server counted so few, was cut to fit: it was longer
    than the window, or what is left of it just fits one. `assumed`: nobody has told the window; `sure`: the estimate is
    good enough to be believed without it."""
    if counted >= _FAR_BELOW * estimate:
        return False
    windows = (window, *_USUAL_WINDOWS) if assumed else (window,)
    at_the_edge = any(_AT_THE_EDGE * edge <= counted <= edge for edge in windows)
    return estimate > window or at_the_edge or sure
