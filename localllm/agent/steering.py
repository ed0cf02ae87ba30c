"""What the user adds to a run: messages in the middle of it, and the files that @path names."""

import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

import msgspec

from localllm.agent.middleware import Decision, Inject, Middleware, RunState
from localllm.base.events import AgentEvent, Emit, Json, Notice, Steered, ToolCall
from localllm.base.i18n import _
from localllm.base.jsontext import encode_json
from localllm.llm.messages import Completion, Image
from localllm.tools.tool_system import ToolSystem

_REFERENCE = r"""(?<![^\s(\[{（「『【])@            # an @ that begins a word
    (?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"@()\[\]{}（）「」『』【】、。，：:;,]+?))
    (?::(?P<first>\d+)(?:-(?P<last>\d+))?)?
    (?=[.!?]*(?:[\s()\[\]{}（）「」『』【】、。，：:;,]|$))"""


class FileReference(msgspec.Struct, frozen=True):
    """A file, or some of its lines: `first_line` counts from 1 and is 0 for the whole file."""

    path: str
    first_line: int = 0
    line_count: int = 0


def find_references(text: str) -> list[FileReference]:
    """The references in `text`, each once, in order. An e-mail address is none: an @ begins a word."""
    found: dict[FileReference, None] = {}
    for match in re.finditer(_REFERENCE, text, re.VERBOSE) if "@" in text else ():
        first = int(match["first"] or 0)
        last = int(match["last"] or first)
        found[FileReference(match["quoted"] or match["bare"], first, max(1, last - first + 1) if first else 0)] = None
    return list(found)


async def with_files(query: str, tools: ToolSystem, room: int, emit: Emit) -> tuple[str, tuple[Image, ...]]:
    """The query with the content of every file it names behind it, in `room` characters, and the pictures among these.
    What has no room or cannot be read is told."""
    parts = [query]
    images: list[Image] = []
    for number, reference in enumerate(find_references(query)):
        call = ToolCall(f"@{number}", "read_file", encode_json(_arguments(reference)).decode())
        result = await tools.execute(call, _show_nobody)
        room -= len(result.for_model)
        if result.success and room < 0:
            parts.append(f'<file path="{reference.path}">\n[left out: no room; use read_file]\n</file>')
            emit(
                Notice(
                    text=_(
                        "@{path} has no room beside the other files; the model is told to read it.", path=reference.path
                    ),
                    level="warning",
                )
            )
        elif result.success:
            parts.append(f'<file path="{reference.path}">\n{unforged(result.for_model)}\n</file>')
            images += result.images
        else:
            emit(Notice(text=f"@{reference.path}: {result.for_model}", level="warning"))
    return "\n\n".join(parts), tuple(images)


def _arguments(reference: FileReference) -> dict[str, Json]:
    arguments: dict[str, Json] = {"file_path": reference.path}
    if reference.first_line:
        arguments |= {"start_line": reference.first_line, "max_lines": reference.line_count}
    return arguments


def _show_nobody(_event: AgentEvent) -> None:
    """Reading a file the person named is no step of the model's."""


WithFiles = tuple[str, tuple[Image, ...]]
"""A text with the content of the files it names, and the pictures among them."""


@cache
def _heading() -> str:
    return (Path(__file__).parent / "prompts" / "steering.md").read_text(encoding="utf-8").strip()


def framed(words: str) -> str:
    """`words` as they stand at the end of a tool's result: nobody but the person says them, and they count."""
    return f"{_heading()}\n{words}"


_QUOTED = "(quoted) "

_BETWEEN = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff_*`>#-]{1,9}"


@cache
def _claims() -> re.Pattern[str]:
    """The two halves of the heading, in any case, and with anything between their words that a reader passes over."""
    halves = [half.rstrip(".:,]").removeprefix("[") for half in re.split(r"(?<=above): |\. ", _heading())[:2]]
    claims = "|".join(_BETWEEN.join(map(re.escape, half.split())) for half in halves)
    return re.compile(rf"(?<!{re.escape(_QUOTED)})(?:{claims})", re.IGNORECASE)


def unforged(text: str) -> str:
    """What a tool gives back, or a file holds, with all that reads like our heading marked as a quotation: it is not
    the person who says it."""
    return _claims().sub(lambda found: f"{_QUOTED}{found[0]}", text)


class Steering(Middleware):
    """Hands on what the person says while a run goes on, in its order, each once.

    Where the model has just ended with an answer, the run goes on with it as a message.
    """

    def __init__(
        self,
        with_files: Callable[[str, Emit], Awaitable[WithFiles]] | None = None,
        on_read: Callable[[], None] = lambda: None,
    ) -> None:
        """`with_files` gives words with the content of the files they name, and the pictures. `on_read` is called
        whenever some are read: what counts since the user spoke counts anew."""
        self._with_files = with_files
        self._on_read = on_read
        self._unread: list[str] = []
        self._open = False

    def begin(self) -> None:
        """A run begins, and can be spoken to."""
        self._unread.clear()
        self._open = True

    def close(self) -> None:
        """The run is over: what is unread stays so."""
        self._open = False

    def say(self, words: str) -> bool:
        """Have the model read `words` next; false where no run goes on that could take them."""
        if self._open:
            self._unread.append(words)
        return self._open

    @property
    def is_open(self) -> bool:
        """Whether a run goes on that can be spoken to."""
        return self._open

    @property
    def unread(self) -> tuple[str, ...]:
        """What was said and not read yet, the oldest first."""
        return tuple(self._unread)

    def take_back(self) -> str:
        """The newest words the model has not read, which it then never will; empty where there are none."""
        return self._unread.pop() if self._unread else ""

    async def before_step(self, state: RunState) -> Decision:
        """Put what was said at the end of what the model reads next."""
        while said := await self._next(state):
            words, (text, images) = said
            state.history.add_remark(framed(text), images, words=words)
        return None

    async def after_answer(self, state: RunState, answer: Completion) -> Decision:
        """Go on with the first thing said; `before_step` adds the others."""
        if not (said := await self._next(state)):
            return None
        words, (text, images) = said
        return Inject(text, words=words, images=images)

    async def _next(self, state: RunState) -> tuple[str, WithFiles] | None:
        """The oldest words not read, and what the model reads for them. Until that is whole, they can be taken
        back."""
        while self._unread:
            words = self._unread[0]
            whole = await self._with_files(words, state.emit) if self._with_files else (words, ())
            if self._unread and self._unread[0] is words:
                state.emit(Steered(text=self._unread.pop(0)))
                self._on_read()
                return words, whole
        return None
