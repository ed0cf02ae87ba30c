"""What of a long output a model is given: its head and its tail, and where the whole of it lies."""

from localllm.base.i18n import tr
from localllm.base.kept_outputs import keep_output
from localllm.text.telling import telling_lines
from localllm.tools.context import ToolContext

_HEAD = 0.2
"""The share of the limit that goes to the head. Errors and results stand at the end, so the tail gets the rest."""

_TELLING = 0.35
"""The share of the limit, at most, for lines in between that tell of a fault."""


def cap(
    text: str, context: ToolContext, name: str, *, whole: bool = True, head: float = _HEAD, faults: bool = False
) -> str:
    """`text` in at most `context.output_limit` characters (and the note on what was left out).

    A longer one is kept in `context.overflow_folder`, in a file called after `name` (a tool's, plain letters); the
    note between head and tail says where, and how to read on. `whole`: nothing was dropped from `text` before. `head`:
    the share of the limit that goes to the head. `faults`: lines in between that tell of one are shown too.
    """
    if len(text) <= context.output_limit:
        return text
    first, telling, last = _parts(text, context.output_limit, head, _TELLING if faults else 0)
    left_out = len(text) - len(first) - len(last)
    line = text.count("\n", 0, len(text) - len(last)) + 1
    kept = _keep(text, context, name, whole=whole)
    note = tr("output.cut", count=left_out, line=line, kept=kept) if whole else tr("output.partial", kept=kept)
    between = f"{tr('output.telling')}\n{telling}\n" if telling else ""
    return f"{first.rstrip()}\n{between}{note}\n{last}"


def _parts(text: str, limit: int, head: float, share: float) -> tuple[str, str, str]:
    """The head, the lines that tell of faults between it and the tail, in at most `share` of the limit, and the tail,
    which is so much shorter."""
    first, last = _ends(text, limit, head)
    most = int(limit * share)
    if not most or not telling_lines(text[len(first) : len(text) - len(last)], most):
        return first, "", last
    wider = telling_lines(text[len(first) : len(text) - len(last) + most], most)
    first, last = _ends(text, limit - len(wider), head)
    return first, telling_lines(text[len(first) : len(text) - len(last)], len(wider)), last


def _ends(text: str, limit: int, share: float) -> tuple[str, str]:
    """The head and the tail, cut where a line ends if that costs less than half of them."""
    head = text[: int(limit * share)]
    tail = text[len(text) - (limit - len(head)) :]
    if (line_end := head.rfind("\n") + 1) > len(head) // 2:
        head = head[:line_end]
    if 0 < (line_start := tail.find("\n") + 1) < len(tail) // 2:
        tail = tail[line_start:]
    return head, tail


def _keep(text: str, context: ToolContext, name: str, *, whole: bool) -> str:
    """Write the text where the model can read it; what to tell it about that."""
    try:
        path = keep_same(text, context, name)
    except OSError as error:
        return tr("output.lost", reason=error.strerror)
    return tr("output.kept", path=path) if whole else tr("output.kept_part", path=path)


def keep_same(text: str, context: ToolContext, name: str) -> str:
    """The path, for tools, of a file with this text, whose name begins with `name`: one that is there already, or a
    new one. Raises OSError."""
    return context.root.name_of(keep_output(context.overflow_folder, name, text))
