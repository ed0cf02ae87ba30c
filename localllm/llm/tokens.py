"""Estimate the tokens of requests, calibrated by the servers' counts, and account for usage."""

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
"""Pixels per token for the families that process an image in its own size (Qwen-VL, Pixtral): patches of 14 × 14
pixels, merged two by two (https://arxiv.org/abs/2409.12191, section 2.1). No common family uses more tokens."""

LEAST_PICTURE = 256
"""Tokens of any image for Gemma 3 (https://arxiv.org/abs/2503.19786, section 2.1)."""

MOST_PICTURE = 4_096
"""Maximum tokens of an image for those families in llama.cpp and Ollama, which shrink larger ones."""

UNKNOWN_PICTURE = 1_024
"""Tokens assumed for an image of unknown size."""


def picture_tokens(image: Image) -> int:
    """Estimate the tokens of an image from its size, rather too high, as some families use 256 for any."""
    picture = picture_in(image.data[:HEAD])
    if picture is None or not picture.width or not picture.height:
        return UNKNOWN_PICTURE
    return min(MOST_PICTURE, max(LEAST_PICTURE, -(-picture.width * picture.height // PIXELS_PER_TOKEN)))


def pictures_in(messages: Iterable[Message]) -> Iterator[Image]:
    """Yield the images in the messages."""
    for message in messages:
        if isinstance(message, UserMessage | ToolMessage):
            yield from message.images


BYTES_PER_TOKEN = 3.6
"""Average for Latin text and code, over the tokenizers of the common local families."""

TOKENS_PER_WIDE_CHARACTER = 1.0
"""Average for Japanese, Chinese and Korean characters, over the same tokenizers."""

TOKENS_PER_MESSAGE = 4
"""Tokens a chat template adds per message (role and delimiters): 3 to 5 in the common families."""

LEAST_RATIO, MOST_RATIO = 0.5, 2.0
"""Bounds of actual to estimated tokens of text; a count outside them is not due to the tokenizer."""

LEAST_PICTURES, MOST_PICTURES = 1 / 64, 2.0
"""The same bounds for images, where families differ more: some see only a small version."""

_BESIDE = 5
"""If the text has this many times the tokens of the images, its estimation error hides theirs."""

_ASCII_MARGIN = 1.3
"""Maximum ratio of actual to estimated tokens for ASCII text, except numbers or random letters."""

_WEIGHT = 0.5
"""Weight of a new count in the moving average."""

_TELLING = 50
"""Minimum tokens of a prompt whose count is used for calibration."""

_CONVERSATIONS = 8
"""Number of cached conversation weights: those of a run and of its sub-agents, and parts of them."""

_NARROW = late_pattern("[\0-\u2e7f]+")
"""Matches text without Japanese, Chinese and Korean characters."""


class Size(NamedTuple):
    """A text's uncalibrated estimate in tokens: its Latin part and its wide characters."""

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
"""Measure a text, cached: a conversation is measured with each of its requests."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens in `text`, at least 1 unless it is empty."""
    return Calibration().estimate(text)


def prompt_texts(messages: Iterable[Message], tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Yield all the text of a request that the model reads."""
    if tools:
        yield encode_json(tools).decode()
    for message in messages:
        yield message.text
        if isinstance(message, AssistantMessage):
            yield from (call.name + call.arguments for call in message.tool_calls)


class Weight(NamedTuple):
    """The uncalibrated estimate of a request or a part of it: tokens of text and images; bytes of its text, and how
    many of them are ASCII."""

    narrow: float = 0.0
    wide: float = 0.0
    pictures: int = 0
    bytes: int = 0
    ascii_bytes: int = 0

    def with_text(self, text: str) -> "Weight":
        """Return the weight with another text."""
        narrow, wide = measure(text)
        size = ascii_size = len(text)
        if not text.isascii():
            size, ascii_size = len(text.encode("utf-8", "surrogatepass")), len(text.encode("ascii", "ignore"))
        return Weight(
            self.narrow + narrow, self.wide + wide, self.pictures, self.bytes + size, self.ascii_bytes + ascii_size
        )

    def with_message(self, message: Message) -> "Weight":
        """Return the weight with another message."""
        weight = self._replace(pictures=self.pictures + sum(map(picture_tokens, pictures_in((message,)))))
        for text in prompt_texts((message,), ()):
            weight = weight.with_text(text)
        return weight

    @property
    def margin(self) -> float:
        """Maximum ratio of actual to estimated tokens before any calibration: the larger, the more of the text is in
        other scripts, for which tokenizers differ most."""
        return MOST_RATIO - (MOST_RATIO - _ASCII_MARGIN) * (self.ascii_bytes / self.bytes if self.bytes else 1.0)


class Weights:
    """Computes the weights of conversations incrementally: each is weighed several times per request."""

    def __init__(self) -> None:
        self._known: list[tuple[tuple[Message, ...], Weight]] = []
        """The newest last."""

    def of(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Weight:
        """Return the weight of a request."""
        messages = tuple(messages)
        beginnings = [known for known in self._known if messages[: len(known[0])] == known[0]]
        before, weight = max(beginnings, key=lambda known: len(known[0]), default=((), Weight()))
        for message in messages[len(before) :]:
            weight = weight.with_message(message)
        others = [known for known in self._known if known[0] is not before]
        self._known = [*others[1 - _CONVERSATIONS :], (messages, weight)]
        return weight.with_text(encode_json(tools).decode()) if tools else weight


class Calibration:
    """The calibration for one model: ratios of actual to estimated tokens for Latin text and wide characters, as moving
    averages of its server's counts; and one for images, where the first count replaces the estimate."""

    def __init__(self) -> None:
        self.narrow = 1.0
        self.wide = 1.0
        self.pictures = 1.0
        self.counts = 0
        """Number of counts used for calibration."""
        self._seen = 0
        self._weights = Weights()

    def weigh(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Weight:
        """Return the uncalibrated weight of a request."""
        return self._weights.of(messages, tools)

    def estimate(self, text: str) -> int:
        """Estimate the tokens in `text`, at least 1 unless it is empty."""
        narrow, wide = measure(text)
        return max(1, round(narrow * self.narrow + wide * self.wide)) if text else 0

    def estimate_prompt(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0, pictures: bool = True
    ) -> int:
        """Estimate the tokens of a request, its text times `margin`. `pictures`: include the images."""
        weight = self.weigh(messages, tools)
        texts = round(weight.narrow * self.narrow + weight.wide * self.wide) + TOKENS_PER_MESSAGE * len(messages)
        return int(margin * texts) + (round(self.pictures * weight.pictures) if pictures else 0)

    def learn(self, messages: Sequence[Message], tools: Sequence[ToolSpec], counted: int) -> None:
        """Calibrate with a request, or a part of one, of `counted` tokens.
        The ratio of its largest component (Latin text, wide characters, images) is adjusted; counts no tokenizer
        explains (a part of the prompt was dropped or not counted) are ignored."""
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
        """Calibrate the images' ratio. `counted`: tokens of images and text; `text`: estimated tokens of the text
        alone. If those exceed the count, the images are few and must not prevent the calibration of the text."""
        if counted <= LEAST_RATIO * text:
            return
        told = max(0.0, counted - text) / estimate
        moved = self.pictures + _WEIGHT * (told - self.pictures) if self._seen else told
        self.pictures = min(MOST_PICTURES, max(LEAST_PICTURES, moved))
        self._seen += 1

    def _moved(self, before: float, told: float) -> float:
        return min(MOST_RATIO, max(LEAST_RATIO, before + _WEIGHT * (told - before)))


_FAR_BELOW = 0.6
"""Ratio to the estimate below which a count cannot be explained by the tokenizer."""

_TAUGHT = 1.25
"""Maximum ratio of actual to estimated tokens, once calibrated, for a request that continues no other. Such as a
summary, or a sub-agent's first request."""

_SURE_AFTER = 2
"""Number of counts after which the calibration is trusted over an assumed window."""

_AT_THE_EDGE = 0.97
"""Fraction of the window that a prompt truncated to fit reaches."""

_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 8))
"""Common default windows of servers: 2,048 to 131,072 tokens."""


class Exchange(msgspec.Struct, frozen=True):
    """A request and its answer. `counted` is None if the server reported no usage."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    answer: AssistantMessage
    counted: UsageChunk | None


class Accounting:
    """Token accounting of one client, with a calibration for each model."""

    def __init__(self) -> None:
        self._calibrations: defaultdict[str, Calibration] = defaultdict(Calibration)
        self._has_warned = False
        self._counted: dict[str, tuple[tuple[Message, ...], int]] = {}
        """The latest request with a trusted count, and that count, by model."""
        self._filled: dict[tuple[str, int], int] = {}
        """The estimate of the latest prompt counted as just filling a window, by model and window."""
        self._evident: dict[str, int] = {}

    def evident_window(self, model: str) -> int:
        """Return the window in tokens evident from the server's counts, whatever it reports: prompts of different
        length, all far longer, were counted as just filling it. 0 if there is no such evidence."""
        return self._evident.get(model, 0)

    def forget_windows(self) -> None:
        """Discard the learned windows, after a change of the server or its settings."""
        self._filled.clear()
        self._evident.clear()

    def estimate(self, model: str, text: str) -> int:
        """Estimate the tokens of `text` for `model`."""
        return self._calibrations[model].estimate(text)

    def estimate_prompt(self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Estimate the tokens of a request for `model`."""
        return self._calibrations[model].estimate_prompt(messages, tools)

    def learn(self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], counted: int) -> None:
        """Calibrate with the number of tokens a server stated when refusing a request."""
        self._calibrations[model].learn(messages, tools, counted)

    def has_counted(self, model: str) -> bool:
        """Return whether `model` has been calibrated by a server's count."""
        return self._calibrations[model].counts > 0

    def expect_prompt(
        self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0
    ) -> int:
        """Estimate the tokens of a request for `model`: those counted of the request it continues, plus `margin` times
        the estimate of the rest. If the whole estimate is larger, or it continues none, everything is estimated, with a
        smaller margin from the calibration or else the script, as there is no room to double all of it."""
        calibration = self._calibrations[model]
        if (count := self._count_of_beginning(model, messages)) is None:
            untaught = calibration.weigh(messages, tools).margin
            known = min(margin, _TAUGHT if calibration.counts else untaught)
            return calibration.estimate_prompt(messages, tools, margin=known)
        before, counted = count
        new = calibration.estimate_prompt(messages[before:], (), margin=margin)
        return max(calibration.estimate_prompt(messages, tools), counted + new)

    def _count_of_beginning(self, model: str, messages: Sequence[Message]) -> tuple[int, int] | None:
        """Return how many messages of a request were in the latest one, and their counted tokens.
        None if it does not continue that one."""
        before, counted = self._counted.get(model, ((), 0))
        return (len(before), counted) if before and tuple(messages[: len(before)]) == before else None

    def settle(self, exchange: Exchange, watch: Stopwatch, window: int, *, assumed: bool) -> tuple[Usage, str]:
        """Return the usage of an answer, and a warning if the server read only a part of the prompt.
        The warning is empty if the count does not show that, and after the first one. `window` is the model's in
        tokens, `assumed` if nothing states it."""
        usage = self._usage(exchange, watch)
        counted = exchange.counted
        if counted is None or counted.prompt_tokens <= 0:
            return usage, ""
        calibration = self._calibrations[exchange.model]
        # the estimate for images is uncertain: it must not look like a truncated prompt
        estimate = calibration.estimate_prompt(exchange.messages, exchange.tools, pictures=False)
        sure = assumed and calibration.counts >= _SURE_AFTER
        gives_away = self._learn_window(exchange.model, counted.prompt_tokens, estimate)
        if gives_away or was_cut(counted.prompt_tokens, estimate, window, assumed=assumed, sure=sure):
            return usage, self._warning(counted.prompt_tokens, estimate)
        self._learn_from(calibration, exchange, counted.prompt_tokens)
        self._counted[exchange.model] = (tuple(exchange.messages), counted.prompt_tokens)
        return usage, ""

    def _learn_from(self, calibration: Calibration, exchange: Exchange, counted: int) -> None:
        """Calibrate with the count of the new messages if these contain images, else of the whole request."""
        before = self._count_of_beginning(exchange.model, exchange.messages)
        new = exchange.messages[before[0] :] if before else ()
        if before and any(pictures_in(new)):
            calibration.learn(new, (), counted - before[1])
        else:
            calibration.learn(exchange.messages, exchange.tools, counted)

    def _learn_window(self, model: str, counted: int, estimate: int) -> bool:
        """Return whether this count reveals the server's window: an earlier, shorter prompt was counted at the same
        edge, and the growth since is less than the count, so that the count cannot be the new part alone."""
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
            "The server counted {counted} tokens of about {estimate} that were sent: it has silently "
            "dropped part of the conversation. Load the model with a larger context (Ollama: num_ctx, "
            "which llm.context_window sets, or OLLAMA_CONTEXT_LENGTH; LM Studio: Context Length; "
            "llama.cpp: -c), or start over with /clear.",
            counted=f"{counted:,}",
            estimate=f"{estimate:,}",
        )


def filled_window(counted: int, estimate: int) -> int:
    """Return the common window that a much longer prompt just fills according to the server's count.
    0 if there is none. `estimate`: the prompt's estimated tokens."""
    if counted >= _FAR_BELOW * estimate:
        return 0
    return next((edge for edge in _USUAL_WINDOWS if _AT_THE_EDGE * edge <= counted <= edge), 0)


def was_cut(counted: int, estimate: int, window: int, *, assumed: bool, sure: bool) -> bool:
    """Return whether a prompt of about `estimate` tokens was truncated, given its low count: it exceeded the window, or
    the count just fills one. `assumed`: the window is not stated; `sure`: the estimate is reliable enough by itself."""
    if counted >= _FAR_BELOW * estimate:
        return False
    windows = (window, *_USUAL_WINDOWS) if assumed else (window,)
    at_the_edge = any(_AT_THE_EDGE * edge <= counted <= edge for edge in windows)
    return estimate > window or at_the_edge or sure
