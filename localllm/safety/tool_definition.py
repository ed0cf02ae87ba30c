"""What a tool is to the pipeline: its function, its risk, what it touches, and what the model is told of it."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import IntEnum
from typing import Any, Literal

import msgspec

from localllm.base.events import Json
from localllm.base.i18n import Phrase
from localllm.llm.messages import Image, ToolSpec
from localllm.safety.call_arguments import Fitted, fit
from localllm.safety.paths import ProjectRoot


class Risk(IntEnum):
    """How much harm a tool can do; from MEDIUM on a person is asked."""

    SAFE = 0
    MEDIUM = 1
    HIGH = 2
    HIGHEST = 3


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gives back.

    `payload`: the answer's fields, for programs and the log. `for_model`: what the model reads.
    `summary`: one line for a person, translated when it is shown. `untrusted`: `for_model` holds text of strangers, as
    from the web; from then on whatever could send something away is asked about. `images`: pictures the model is shown
    with it.
    """

    payload: dict[str, Json]
    for_model: str
    summary: str | Phrase
    success: bool = True
    untrusted: bool = False
    images: tuple[Image, ...] = ()


ToolFunction = Callable[..., Coroutine[Any, Any, ToolOutput]]


class Preview(msgspec.Struct, frozen=True):
    """What a person sees before allowing a call: `kind` is "diff", "command" or "text".

    `danger` says what would be lost by it: then it is done only where a person, having been shown this, said yes.
    `plan`: the change itself, where the tool can carry it out as it was shown (ToolContext.plan) and fails if the file
    is no longer what it was planned for. `question` says why a person is asked about it even where nothing else wants
    that; a rule that allows the call, and the mode auto, are an answer. `risk` is the call's, where the tool's is not.
    """

    summary: str
    detail: str
    kind: Literal["diff", "command", "text"] = "text"
    danger: str | Phrase = ""
    plan: object = None
    question: str | Phrase = ""
    risk: Risk | None = None


PreviewFunction = Callable[..., Preview | Awaitable[Preview]]


Touches = Callable[[Any, dict[str, Any]], tuple[str, ...]]
"""By the context that the tool is given, and its arguments."""


Redirect = Callable[[ProjectRoot, dict[str, Any]], tuple[str, dict[str, Any]] | None]
"""The tool and the arguments that a call stands for, where that is another one; else None."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: its function, what the model is told of it (`spec`, or `brief` where it is a small one), and what the
    pipeline must know before it runs. `runs_programs`: of the project, so that any file may change."""

    name: str
    risk: Risk
    spec: ToolSpec
    arguments: type[msgspec.Struct]
    function: ToolFunction
    writes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    preview: PreviewFunction | None = None
    touches: Touches | None = None
    runs_programs: bool = False
    redirect: Redirect | None = None
    brief: ToolSpec

    def is_safe(self, touched: Sequence[str]) -> bool:
        """Whether a call that touches these files changes nothing."""
        return self.risk == Risk.SAFE or (self.touches is not None and not touched)

    def fit(self, arguments: dict[str, Json]) -> Fitted:
        """The arguments by the tool's names, coerced to their types. Raises ArgumentsError."""
        return fit(self.name, self.arguments, arguments)

    def parse(self, arguments: dict[str, Json]) -> dict[str, Any]:
        """The values alone."""
        return self.fit(arguments).values

    def stated(self, parsed: dict[str, Any]) -> dict[str, Json]:
        """Of parsed arguments those that are not their defaults, as JSON values: what a person wants to see."""
        defaults = {field.name: field.default for field in msgspec.structs.fields(self.arguments)}
        return {name: msgspec.to_builtins(value) for name, value in parsed.items() if value != defaults[name]}
