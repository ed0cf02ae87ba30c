"""Tool definitions for the pipeline: function, risk, files touched, specification for the model."""

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
    """How much harm a tool can do; from MEDIUM on the user is asked."""

    SAFE = 0
    MEDIUM = 1
    HIGH = 2
    HIGHEST = 3


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a tool.

    `payload`: the fields of the answer, for programs and the log. `for_model`: what the model reads.
    `summary`: one line for the user, translated when shown. `untrusted`: `for_model` holds text of strangers, as
    from the web; from then on, calls that could send data away need confirmation. `images`: pictures for the
    model.
    """

    payload: dict[str, Json]
    for_model: str
    summary: str | Phrase
    success: bool = True
    untrusted: bool = False
    images: tuple[Image, ...] = ()


ToolFunction = Callable[..., Coroutine[Any, Any, ToolOutput]]


class Preview(msgspec.Struct, frozen=True):
    """What the user sees before allowing a call: `kind` is "diff", "command" or "text".

    `danger`: what the call would lose; then it is done only after a person, having been shown this, said yes.
    `plan`: the change itself, if the tool can apply it as shown (ToolContext.plan) and fails if the file has
    changed since. `question`: why the user is asked even if nothing else requires it; a rule that allows the
    call, and the mode auto, are an answer. `risk`: the call's, if it differs from the tool's.
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
"""Arguments: the context given to the tool, and its arguments."""


Redirect = Callable[[ProjectRoot, dict[str, Any]], tuple[str, dict[str, Any]] | None]
"""Return the tool and the arguments that a call stands for, if it is another one; else None."""


Passages = Callable[[dict[str, Any]], Sequence[str]]
"""Return the texts that a call with these arguments replaces."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: its function, its specification for the model (`spec`, or `brief` for small models), and what the
    pipeline must know before it runs. `runs_programs`: of the project, so that any file may change. `passages`: where
    these stand in the only file of a name, the name means that file."""

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
    passages: Passages | None = None
    brief: ToolSpec

    def is_safe(self, touched: Sequence[str]) -> bool:
        """Return whether a call that touches these files changes nothing."""
        return self.risk == Risk.SAFE or (self.touches is not None and not touched)

    def fit(self, arguments: dict[str, Json]) -> Fitted:
        """Return the arguments by the tool's names, coerced to their types. Raises ArgumentsError."""
        return fit(self.name, self.arguments, arguments)

    def parse(self, arguments: dict[str, Json]) -> dict[str, Any]:
        """Return only the values of `fit`."""
        return self.fit(arguments).values

    def stated(self, parsed: dict[str, Any]) -> dict[str, Json]:
        """Return the parsed arguments that differ from their defaults, as JSON values, for display."""
        defaults = {field.name: field.default for field in msgspec.structs.fields(self.arguments)}
        return {name: msgspec.to_builtins(value) for name, value in parsed.items() if value != defaults[name]}
