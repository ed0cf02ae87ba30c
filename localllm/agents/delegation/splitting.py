"""The parts of a task that several agents can do at the same time, as a model names them."""

import msgspec

from localllm.base.events import Json
from localllm.base.i18n import tr

MOST_SUBTASKS = 4
_LONGEST_TITLE = 40


class Subtask(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a task. `writes`: it may change files and run commands."""

    title: str
    instructions: str
    writes: bool = False

    def __str__(self) -> str:
        kind = tr("coordinate.writes" if self.writes else "coordinate.reads")
        return tr("coordinate.part", title=self.title, kind=kind)


class _Split(msgspec.Struct):
    subtasks: list[Subtask]


SPLIT_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "subtasks": {
            "type": "array",
            "maxItems": MOST_SUBTASKS,
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "instructions": {"type": "string"},
                    "writes": {"type": "boolean"},
                },
                "required": ["title", "instructions", "writes"],
            },
        }
    },
    "required": ["subtasks"],
}


def read_split(text: str) -> list[Subtask] | None:
    """The parts in a model's answer, each with a title of its own; None where it is no split, and where there are too
    many parts."""
    try:
        found = msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=_Split).subtasks
    except msgspec.DecodeError:
        return None
    found = [subtask for subtask in found if subtask.instructions.strip()]
    if len(found) > MOST_SUBTASKS:
        return None
    named: dict[str, Subtask] = {}
    for number, subtask in enumerate(found, start=1):
        title = " ".join(subtask.title.split())[:_LONGEST_TITLE].strip() or tr("coordinate.untitled", number=number)
        while title in named:
            title = f"{title} {number}"
        named[title] = msgspec.structs.replace(subtask, title=title, instructions=subtask.instructions.strip())
    return list(named.values())


def whole(task: str) -> Subtask:
    """The task as its only part."""
    return Subtask(title=tr("coordinate.whole"), instructions=task, writes=True)
