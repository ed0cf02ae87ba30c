"""Name the actions on TODOs, and format a TODO in one line."""

from typing import TYPE_CHECKING

from localllm.base.i18n import N_, Phrase, _
from localllm.text.sanitising import clean

if TYPE_CHECKING:
    from localllm.memory.entries import State
    from localllm.memory.todos import Todo

_STATES = {
    "planned": N_("To do: {id} {text}"),
    "doing": N_("In progress: {id} {text}"),
    "done": N_("Done: {id} {text}"),
    "dropped": N_("Dropped: {id} {text}"),
}
_ALREADY = {
    "planned": N_("Already open: {id} {text}"),
    "doing": N_("Already in progress: {id} {text}"),
    "done": N_("Already done: {id} {text}"),
    "dropped": N_("Already dropped: {id} {text}"),
}
_STATE_NAMES = {
    "planned": N_("to do"),
    "doing": N_("in progress"),
    "done": N_("done"),
    "dropped": N_("dropped"),
}
_PRIORITIES = {
    "high": N_("high"),
    "medium": N_("medium"),
    "low": N_("low"),
}


JAPANESE: dict[str, str] = {
    "add": "追加|登録",
    "start": "着手|開始",
    "finish": "完了|終了",
    "drop": "中止|取消|取り消し|取りやめ",
    "reopen": "再開",
    "high": "高",
    "medium": "中",
    "low": "低",
    "edit": "編集|変更",
    "move": "移動",
    "list": "一覧|表示",
    "all": "全部|すべて",
    "keep": "保存",
}
"""Japanese words by their English verb."""


STATES: "dict[str, State]" = {"start": "doing", "finish": "done", "drop": "dropped", "reopen": "planned"}
"""The state that each verb sets."""


def by_word(english: dict[str, str]) -> dict[str, str]:
    """Map each English word, and the Japanese words for the same, to its meaning."""
    words = {meant: f"{said}|{JAPANESE.get(meant, meant)}" for meant, said in english.items()}
    return {word: meant for meant, every in words.items() for word in every.split("|")}


def todo_text(todo: "Todo") -> str:
    """Return a TODO on one line, with its priority unless it is medium."""
    priority = "" if todo.priority == "medium" else f" ({_(_PRIORITIES[todo.priority])})"
    return f"{clean(todo.text, keep_newlines=False)}{priority}"


def state_told(now: "Todo", before: "Todo | None", text: str) -> Phrase:
    """Return a message with the state of a TODO, and the previous one if the user may not expect it.
    `text` is the text to show."""
    if before and before.state == now.state:
        return Phrase(_ALREADY[now.state], id=now.id, text=text)
    told = Phrase(_STATES[now.state], id=now.id, text=text)
    if before is None or before.is_open or now.state == "planned":
        return told
    return Phrase("{told} (before: {state})", told=told, state=Phrase(_STATE_NAMES[before.state]))
