"""Summarise a conversation for a hand-off: what was done, what is open."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from localllm.base.errors import LLMConnectionError
from localllm.base.events import Usage
from localllm.base.i18n import _
from localllm.context.budget import NO_MODEL, Budget, Scale
from localllm.context.conversation import Conversation
from localllm.context.pruning import cut, was_pruned, with_calls
from localllm.llm.client import LLMClient
from localllm.llm.messages import (
    BEGINNING,
    NOW,
    RECORD,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    is_summed_up,
    path_of,
    state_in,
    with_arguments,
)
from localllm.text.error_lines import telling_lines

_CHANGES = frozenset({"create_file", "write_file", "edit_file"})
_COMMANDS = frozenset({"run_command", "command_output"})

_MOST_FILES = 20
_LONGEST_RESULT = 600
_SHORT_ANSWER = 60
_LONGEST_QUESTION = 240
_MOST_ANSWERS = 5

_CHANGED_LINE = re.compile(r"^changed: (.+?)(?: \(… \d+ more\))?$", re.MULTILINE)
_RESULT = re.compile(r"^newest (change|command): (.*?)(?=^newest (?:change|command): |\Z)", re.MULTILINE | re.DOTALL)
_ANSWER_LINE = re.compile(r"^asked: .* → the user: .*$", re.MULTILINE)


def record(conversation: Conversation, earlier: str = "") -> str:
    """Return the record of a conversation, continuing that of the `earlier` state; "" if nothing was done."""
    lines = [
        listed("changed", _with_earlier(files(conversation.messages)[1], earlier)),
        *[*_ANSWER_LINE.findall(earlier), *_answers(conversation)][-_MOST_ANSWERS:],
        *_newest_results(conversation.messages, earlier),
    ]
    told = "\n".join(filter(None, lines))
    return f"{RECORD}\n{told}" if told else ""


def files(messages: Sequence[Message]) -> tuple[list[str], list[str]]:
    """Return the files that were read, and those that were changed, newest first."""
    read: dict[str, None] = {}
    changed: dict[str, None] = {}
    for message in reversed(messages):
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            if path := path_of(call):
                (changed if call.name in _CHANGES else read)[path] = None
    return [path for path in read if path not in changed], list(changed)


def listed(what: str, paths: Sequence[str]) -> str:
    """Format the paths in one line, "" if there are none."""
    more = f" (… {len(paths) - _MOST_FILES} more)" if len(paths) > _MOST_FILES else ""
    return f"{what}: {', '.join(paths[:_MOST_FILES])}{more}" if paths else ""


def _with_earlier(changed: Sequence[str], earlier: str) -> list[str]:
    before = [path for line in _CHANGED_LINE.findall(earlier) for path in line.split(", ")]
    return list(dict.fromkeys([*changed, *before]))


def _answers(conversation: Conversation) -> Iterator[str]:
    """Yield the user's short answers with the model's questions, without which they are meaningless."""
    for number, before in enumerate(conversation.messages[:-1]):
        said = " ".join(" ".join(conversation.words_in(number + 1)).split())
        question = _question(before.text) if isinstance(before, AssistantMessage) and not before.tool_calls else ""
        if question and 0 < len(said) <= _SHORT_ANSWER:
            yield f"asked: {question} → the user: {said}"


def _question(text: str) -> str:
    """Return the last paragraph of a text, if it is a question."""
    last = " ".join(text.strip().split("\n\n")[-1].split())
    return last[-_LONGEST_QUESTION:] if "?" in last or "？" in last else ""


def _newest_results(messages: Sequence[Message], earlier: str) -> Iterator[str]:
    results = [(m, call) for m, call in with_calls(messages) if isinstance(m, ToolMessage) and not was_pruned(m)]
    before = dict(_RESULT.findall(earlier.partition(RECORD)[2]))
    for what, names in (("change", _CHANGES), ("command", _COMMANDS)):
        if newest := next(((m, call) for m, call in reversed(results) if call.name in names), None):
            message, call = newest
            yield f"newest {what}: {with_arguments(call)} →\n{_shortened(message.text)}"
        elif what in before:
            yield f"newest {what}: {before[what].strip()}"


def _shortened(text: str) -> str:
    """Return the beginning, the error lines, and the end of a text."""
    text = text.strip()
    if len(text) <= _LONGEST_RESULT:
        return text
    part = _LONGEST_RESULT // 3
    return "\n".join(filter(None, [text[:part], telling_lines(text[part:-part], part), f"…{text[-part:]}"]))


_READING = frozenset({"read_file"})

_LONGEST_OUTCOME = 110
_LONGEST_SAID = 500


_OPEN = "Open now:"
_SAID = "<said>\n"


def head_text(
    words: Sequence[str], state: str, surroundings: str = "", request: str = "", *, aside: str = "", left: int = 0
) -> str:
    """Format the message that replaces the older part. `words` are the user's in it, the newest `left` of them are
    still to be answered, `aside` tells where earlier ones are stored; `request` is a new request to answer now."""
    said = [f"{_SAID}{text}\n</said>" for text in words]
    if 0 < left < len(said) and not request:
        said.insert(-left, _OPEN)
    parts = [
        BEGINNING,
        aside,
        *(["The user said, verbatim, the oldest first:", *said] if said else []),
        f"The work so far:\n<state>\n{state}\n</state>",
        surroundings,
        f"{NOW}\n\n{request}" if request else "",
    ]
    return "\n\n".join(filter(None, parts))


def count_open(conversation: Conversation) -> int:
    """Return how many of the user's newest words are still to be answered; 0 if none or all of them are."""
    said, messages = [spoken.message for spoken in conversation.said], conversation.messages
    answers = [number for number, message in enumerate(messages) if _is_answer(message)]
    if not said or (answers and answers[-1] > said[-1]):
        return 0
    if before := [number for number in answers if number < said[-1]]:
        return sum(number > before[-1] for number in said)
    head = messages[1] if len(messages) > 1 else None
    if not isinstance(head, UserMessage) or not is_head(head):
        return 0
    _said, is_asked, _request = head.text.rpartition(f"{NOW}\n\n")
    in_head = 1 if is_asked else head.text.rpartition(f"\n{_OPEN}\n\n{_SAID}")[2].count(_SAID) + 1
    left = in_head + sum(number > 1 for number in said)
    return left if left < len(said) else 0


def _is_answer(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.tool_calls and bool(message.text.strip())


def earlier_state(messages: Sequence[Message]) -> str:
    """Return the state in an earlier hand-off, or ""."""
    first = next((message for message in messages if isinstance(message, UserMessage)), None)
    return state_in(first.text) if first is not None and is_head(first) else ""


def is_head(message: Message) -> bool:
    """Return whether this is a summary message that replaces an older part."""
    return isinstance(message, UserMessage) and is_summed_up(message.text)


def plain_state(conversation: Conversation, most_lines: int = 40) -> str:
    """Return the state of the work without a model: calls and outcomes, newest last, files read, the last answer, and
    the record."""
    messages = conversation.messages
    done = list(_joined(_outcomes(messages)))
    dropped = len(done) - most_lines
    lines = [f"- (… {dropped} earlier steps)", *done[-most_lines:]] if dropped > 0 else done
    read, _ = files(messages)
    earlier = earlier_state(messages)
    said = next((m.text for m in reversed(messages) if isinstance(m, AssistantMessage) and m.text.strip()), "")
    parts = [
        earlier.partition(RECORD)[0].strip(),
        "## Goal\nWhat the user said.",
        "## Done\n" + "\n".join(lines) if lines else "",
        f"## Files\n{listed('read', read)}" if read else "",
        f"## Said last\n{_short(said, _LONGEST_SAID)}" if said else "",
        "## Next\nGo on with what the user asked for last.",
        record(conversation, earlier),
    ]
    return "\n\n".join(filter(None, parts))


def transcript(conversation: Conversation, most: int) -> str:
    """Format the messages as text, each result and argument in at most `most` characters."""
    lines: list[str] = []
    for number, (message, call) in enumerate(with_calls(conversation.messages)):
        match message:
            case UserMessage(text):
                words = conversation.words_in(number)
                said = "\n\n".join(words) if words else earlier_state((message,)) or text
                lines.append(f"USER: {_ends(said, 4 * most)}")
            case AssistantMessage(text, calls):
                lines += [f"ASSISTANT: {_ends(text, 4 * most)}"] if text.strip() else []
                lines += [f"CALL {asked.name} {_ends(asked.arguments, most)}" for asked in calls]
            case ToolMessage(text=text):
                lines.append(f"RESULT of {call.name}: {_ends(text, most)}")
            case _:
                pass
    return "\n".join(lines)


def _outcomes(messages: Sequence[Message]) -> Iterable[str]:
    for message, call in with_calls(messages):
        if isinstance(message, ToolMessage):
            outcome = "" if was_pruned(message) else f" → {_outcome(call.name, message.text)}"
            yield f"- {with_arguments(call)}{outcome}"


def _outcome(tool: str, text: str) -> str:
    """Summarise a call's outcome in a line; for a file that was read, its number of lines."""
    lines = text.count("\n") + 1
    return f"{lines} lines" if tool in _READING and lines > 1 else _short(text, _LONGEST_OUTCOME)


def _joined(lines: Iterable[str]) -> Iterable[str]:
    """Merge consecutive equal lines, with their count."""
    before, count = "", 0
    for line in (*lines, ""):
        if line == before:
            count += 1
            continue
        if before:
            yield before if count == 1 else f"{before} (×{count})"
        before, count = line, 1


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _ends(text: str, most: int) -> str:
    """Return beginning and end, where errors and results are."""
    text = text.strip()
    if len(text) <= most:
        return text
    first = most // 3
    return f"{text[:first]} … {text[len(text) - (most - first) :]}"


_BY_RULE = frozenset({"embedded", "scripted"})
"""Providers without a model that could summarise a transcript."""

_FILL = 0.8
"""Share of the window for the transcript beside the answer, as the estimate may be inexact."""

_LENGTHS = (4_000, 2_000, 1_000, 500, 250, 120)
"""Maximum characters of a result in the transcript; the largest that fits is used."""

_WORDS_PER_TOKEN = 0.6
_LEAST_LETTERS = 40
_TOO_LONG = 1.5
"""Ratio to the requested length from which a summary is rejected."""

_CHANTING = 0.2
"""Compression ratio below which a text is repetitive: prose needs 0.4 and more."""
_TELLING = 400


Begins = Callable[[], None]
"""Called before a model is asked for a summary, which may take a while."""


def to_nobody() -> None:
    """Do nothing (the default `begins`)."""


class Summary(msgspec.Struct, frozen=True):
    """The model's summary and its cost. If it is unusable `text` is empty, and `why` gives the reason."""

    text: str = ""
    why: str = ""
    usage: Usage = Usage()


class Summariser:
    """Asks `client` for summaries."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask."""
        return self._client.provider.name not in _BY_RULE

    async def summarise(
        self, conversation: Conversation, scale: Scale, budget: Budget, wish: str = "", begins: Begins = to_nobody
    ) -> Summary:
        """Return the state of the work in `conversation`.
        `wish`: what the user wants preserved; `begins` is called once before the model is asked. A request that is
        too long for the server is retried at half the length. Raises only cancellation."""
        if not self.has_model:
            return Summary(why=NO_MODEL)
        begins()
        for factor in (budget.factor, 2 * budget.factor):
            try:
                return await self._ask(conversation, scale, msgspec.structs.replace(budget, factor=factor), wish)
            except LLMConnectionError as error:
                if error.key != "llm_context_overflow":
                    return Summary(why=error.what)
        return Summary(why=_("the conversation does not fit into one request"))

    async def _ask(self, conversation: Conversation, scale: Scale, budget: Budget, wish: str) -> Summary:
        system = SystemMessage(_prompt().format(words=int(budget.summary * _WORDS_PER_TOKEN)))
        asked = f"Above all, keep: {wish}\n\n" if wish else ""
        fixed = scale.messages((system, UserMessage(asked)))
        room = int(_FILL * (budget.window - 2 * budget.summary) / budget.factor) - fixed
        text = fitting_transcript(conversation, room, scale)
        request = UserMessage(f"<transcript>\n{text}\n</transcript>\n\n{asked}Write the hand-off now.")
        answer = await self._client.complete((system, request), tool_choice="none", max_tokens=2 * budget.summary)
        written = answer.message.text.strip()
        fault = _fault(written, answer.finish_reason, scale.text(written), budget.summary)
        return Summary("" if fault else written, fault, answer.usage)


def fitting_transcript(conversation: Conversation, tokens: int, scale: Scale) -> str:
    """Format the messages as text of at most `tokens`, preceded by an earlier hand-off."""
    if before := earlier_state(conversation.messages):
        before = cut(before, tokens // 2, "[… {count:,} characters left out]", scale.text, head=0.5)
    text = ""
    for most in _LENGTHS:
        text = transcript(conversation, most)
        if scale.text(text) <= tokens - scale.text(before):
            break
    rest = cut(text, max(0, tokens - scale.text(before)), "[… {count:,} characters left out]", scale.text, head=0.3)
    return "\n\n".join(filter(None, [before and f"Handed over before:\n{before}", rest]))


def _fault(text: str, finish: str, tokens: int, wanted: int) -> str:
    """Explain why a summary is unusable; empty if it is usable."""
    if not text:
        return _("it wrote nothing")
    if len(text) < _LEAST_LETTERS:
        return _("it is too short to be one")
    packed = text.encode("utf-8", "surrogatepass")
    if len(packed) > _TELLING and len(zlib.compress(packed)) < _CHANTING * len(packed):
        return _("it repeats itself")
    return _("it is too long") if finish == "length" or tokens > _TOO_LONG * wanted else ""


@cache
def _prompt() -> str:
    return (Path(__file__).parent / "prompts" / "summary.md").read_text(encoding="utf-8").strip()
