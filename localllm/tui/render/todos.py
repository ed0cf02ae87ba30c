"""Format TODOs as lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localllm.base.i18n import _
from localllm.memory.todo_actions import todo_text
from localllm.text.sanitising import clean, shorten
from localllm.tui.theme import Line

if TYPE_CHECKING:
    from localllm.memory.todos import Todo

MOST = 5
"""Lines shown at the start of the chat."""

_MOST_NAMED = 3
_LONGEST_NAME = 40  # cells
_MARKS = {"planned": "[ ]", "doing": "[~]", "done": "[x]", "dropped": "[-]"}


def todo_row(todo: "Todo") -> str:
    """Format a TODO on one line, with its state as in the file: `[x] Write the docs`."""
    return f"{_MARKS[todo.state]} {todo_text(todo)}"


def reminder_lines(open_todos: "Sequence[Todo]", width: int) -> list[Line]:
    """Format the open TODOs at the start of the chat in few lines; empty if there are none."""
    if not open_todos:
        return []
    texts = [shorten(todo_row(todo), width - 2) for todo in open_todos[:MOST]]
    lines: list[Line] = [(("bold", f"  {_('Open TODOs')}"),), *((("", f"  {text}"),) for text in texts)]
    if len(open_todos) > MOST:
        more = _("… and {count} more: {how}", count=len(open_todos) - MOST, how="/todo")
        lines.append((("dim", "  " + shorten(more, width - 2)),))
    return lines


def in_progress_line(doing: "Sequence[Todo]", width: int) -> Line:
    """Format the tasks a run has started and not finished."""
    names = [shorten(clean(todo.text, keep_newlines=False), _LONGEST_NAME) for todo in doing[:_MOST_NAMED]]
    more = f" (+{len(doing) - _MOST_NAMED})" if len(doing) > _MOST_NAMED else ""
    return (("dim", "  " + shorten(_("in progress: {names}", names=", ".join(names)) + more, width - 2)),)
