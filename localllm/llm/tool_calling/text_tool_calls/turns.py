"""Decide whether an answer ends at a token of its chat template, though the model wrote on."""

from localllm.llm.tool_calling.json_repair import BLANK
from localllm.llm.tool_calling.text_tool_calls.markers import HARMONY, HARMONY_ENDS, RESULTS, TURN_ENDS, TURNS, Kind
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

_OF_TEMPLATES: tuple[Kind, ...] = ("token", "turn", "result", "harmony")
_NEXT_TURNS = (*TURNS, *RESULTS, "<|assistant|>", "<｜assistant｜>")
_BEFORE_EXAMPLES = (":", "：")


class TurnEnds:
    """What is known of the answer's end. An answer that shows a template's token as text is about templates, and what
    follows a colon is an example: neither ends there."""

    def __init__(self, source: Source) -> None:
        self.plays_both = False
        """Whether the model wrote a conversation with a user of its own in plain words, whose calls do not count."""
        self._source = source
        self._last = ""
        self._is_about_templates = False
        self._plays_user = False

    @property
    def may_follow(self) -> bool:
        """Whether another's turn that follows here would be an invented one."""
        return not self._is_about_templates and self._last not in _BEFORE_EXAMPLES

    def note_text(self, text: str) -> None:
        """Record text that is emitted."""
        self._last = text.rstrip(BLANK)[-1:] or self._last

    def note_literal(self, kind: Kind) -> None:
        """Record a literal that is emitted as text."""
        self._is_about_templates = self._is_about_templates or kind in _OF_TEMPLATES

    def note_speaker(self, kind: Kind) -> None:
        """Record the start of a turn in plain words. It is emitted, as it may be an example."""
        if kind == "assistant":
            self.plays_both = self.plays_both or self._plays_user
        elif self.may_follow:
            self._plays_user = True

    def ends_at(self, literal: str, *, is_glued: bool, is_last_of_line: bool) -> Reading[bool]:
        """Return whether the token `literal` ends the answer: at the end of a line, directly after what was said
        (`is_glued`), or before another turn. Within a sentence it is a word."""
        if literal not in TURN_ENDS or not self.may_follow:
            return False
        if literal in HARMONY_ENDS and (yield from self._is_before(HARMONY)):
            return False
        return (is_last_of_line and is_glued) or (yield from self._is_before(_NEXT_TURNS))

    def _is_before(self, literals: tuple[str, ...]) -> Reading[bool]:
        """Return whether one of `literals` follows; the position is kept."""
        place = self._source.place
        found = yield from self._source.accept(*literals)
        self._source.go(place)
        return bool(found)
