"""Fold long pasted texts in the prompt into one short line each; they are sent whole."""

import re

from localllm.base.i18n import _, ngettext
from localllm.text.sanitising import display_width

_MOST_LINES = 10
_MOST_CHARACTERS = 2_000
_LONGEST_COMMAND = 200  # characters pasted at once
_BEGIN_COMMANDS = ("!", "/", "！", "／")
_ROWS_BESIDE = 8  # the menu, the status line, and some of the conversation


def no_command(pasted: str) -> str:
    """Begin a pasted text of several lines, or a long one, with a line break if it looks like a command: it is none
    then. Of such a text only a part is shown."""
    is_long = "\n" in pasted.strip() or len(pasted) > _LONGEST_COMMAND
    is_alike = is_long and pasted.lstrip().startswith(_BEGIN_COMMANDS)
    return "\n" + pasted.lstrip("\n") if is_alike else pasted


class Pastes:
    """The texts behind placeholders such as `[pasted 200 lines]`."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """Return the placeholder of a long text; a short text itself."""
        lines = text.removesuffix("\n").count("\n") + 1
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
        """Return the text with its placeholders expanded. Where one stands first and holds what would be a command, it
        begins with a line break, and so is none: nobody has seen it."""
        names = "|".join(map(re.escape, self._texts))
        if not names:
            return text
        expanded = re.sub(names, lambda found: self._texts[found[0]], text)
        return no_command(expanded) if re.match(rf"\s*(?:{names})", text) else expanded

    def name_at_end(self, text: str) -> str:
        """Return the placeholder a text ends with; "" for none."""
        return next((name for name in self._texts if text.endswith(name)), "")
