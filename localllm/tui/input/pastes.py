"""Fold long pasted texts in the prompt into one short line each; they are sent whole."""

import re

from localllm.base.i18n import _, ngettext
from localllm.text.sanitising import display_width, without_hidden
from localllm.tui.commands.registry import is_command

_MOST_LINES = 10
_MOST_CHARACTERS = 2_000
_FULL_WIDTH = "！"  # as Japanese input methods write it
_ROWS_BESIDE = 8  # the menu, the status line, and some of the conversation


def inserted(pasted: str, before: str, after: str = "", *, room: int = 0) -> str:
    """Return a pasted text as it is inserted between `before` and `after`: it begins with a line break, and so is no
    command, unless it is one line in an empty input, all of which is seen.

    Args:
        room: cells of the row that shows the input; 0 where nothing pasted is a command.
    """
    if before.rpartition("\n")[2].strip() or not is_command(pasted.replace(_FULL_WIDTH, "!")):
        return pasted
    line = pasted.removesuffix("\n")
    is_alone = not (before or after or "\n" in line)
    return line if is_alone and _is_visible(line, room) else f"\n{pasted}"


def _is_visible(line: str, room: int) -> bool:
    """Whether a line takes at most so many cells and nothing in it is hidden."""
    return without_hidden(line) == line and "\t" not in line and sum(map(display_width, line)) <= room


class Pastes:
    """The texts behind placeholders such as `[pasted 200 lines]`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """Return the placeholder of a long text; a short text itself."""
        lines = text.removeprefix("\n").removesuffix("\n").count("\n") + 1
        if lines <= _MOST_LINES and len(text) <= _MOST_CHARACTERS:
            return text
        name = (
            ngettext("[pasted {count} line]", "[pasted {count} lines]", lines)
            if lines > _MOST_LINES
            else _("[pasted {count} characters]", count=f"{len(text):,}")
        )
        number, free = 1, name
        while self._texts.get(free, text) != text:
            number += 1
            free = f"{name[:-1]} ({number})]"
        self._texts[free] = text
        return free

    def fold_tall(self, text: str, columns: int, rows: int) -> str:
        """`fold` a text that does not fit on a screen of this size."""
        taken = sum(1 + display_width(line) // columns for line in text.split("\n"))
        return self.fold(text) if taken > rows - _ROWS_BESIDE else text

    def whole(self, text: str) -> str:
        """Return the text with its placeholders expanded. Where one has come to stand first and holds what would be a
        command, it begins with a line break, and so is none: nobody has seen it."""
        names = "|".join(map(re.escape, self._texts))
        if not names:
            return text
        expanded = re.sub(names, lambda found: self._texts[found[0]], text)
        return inserted(expanded, "") if re.match(rf"\s*(?:{names})", text) else expanded

    def name_at_end(self, text: str) -> str:
        """Return the placeholder a text ends with; "" for none."""
        return next((name for name in self._texts if text.endswith(name)), "")
