"""What an answer has cost, as its server counts or as we estimate; and what a count gives away."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from localllm.base.events import Usage
from localllm.base.i18n import tr
from localllm.llm.messages import AssistantMessage, Message, ToolSpec
from localllm.llm.providers.base import UsageChunk
from localllm.llm.retry import Stopwatch
from localllm.llm.tokens import Calibration, margin_of, pictures_in, prompt_texts

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

    def expect_prompt(
        self, model: str, messages: Sequence[Message], tools: Sequence[ToolSpec], *, margin: float = 1.0
    ) -> int:
        """The tokens a request is for `model`: those counted of the request it continues, and the rest estimated,
        `margin` times. All is estimated where that is more, or it continues none; the margin is smaller then: what
        counts have taught of the estimate, or else what its script tells, for there is no room to double all of it."""
        calibration = self._calibrations[model]
        if (count := self._count_of_beginning(model, messages)) is None:
            untaught = margin_of(prompt_texts(messages, tools))
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
        return tr("llm.dropped", counted=f"{counted:,}", estimate=f"{estimate:,}")


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
