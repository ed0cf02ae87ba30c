"""What is said of a TODO on one line, to a person or a model."""

from typing import TYPE_CHECKING

from localllm.base.i18n import Phrase, tr
from localllm.text.sanitising import clean

if TYPE_CHECKING:
    from localllm.memory.todos import Todo


def todo_text(todo: "Todo") -> str:
    """A TODO's text on one line, with its priority if that is not the usual one."""
    priority = "" if todo.priority == "medium" else f" ({tr(f'memory.priority.{todo.priority}')})"
    return f"{clean(todo.text, keep_newlines=False)}{priority}"


def state_told(now: "Todo", before: "Todo | None", text: str) -> Phrase:
    """In what state a TODO is now, and whether that is another one than somebody may think who brought it there; `text`
    is how it is shown."""
    if before and before.state == now.state:
        return Phrase(f"todo.already.{now.state}", id=now.id, text=text)
    told = Phrase(f"todo.{now.state}", id=now.id, text=text)
    if before is None or before.is_open or now.state == "planned":
        return told
    return Phrase("todo.was", told=told, state=Phrase(f"memory.state.{before.state}"))
