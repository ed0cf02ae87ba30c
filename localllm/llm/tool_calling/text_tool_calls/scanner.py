"""Extract tool calls and thinking from streamed text."""

import re
from typing import Literal

import msgspec

from localllm.base.foreign_tools import UNNAMED
from localllm.llm.providers.base import TextChunk, ThinkingChunk
from localllm.llm.tool_calling.json_repair import BLANK, repair_json
from localllm.llm.tool_calling.text_tool_calls.forms import PYTHON_FENCES, CallReader, Calls
from localllm.llm.tool_calling.text_tool_calls.markers import (
    HARMONY_ENDS,
    HEADER_ENDS,
    OTHER_TURNS,
    OTHERS_IN_HARMONY,
    OWN_TURNS,
    USER_TURNS,
    Kind,
    Table,
    read_head,
    tables,
)
from localllm.llm.tool_calling.text_tool_calls.payloads import Found, Offer
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source
from localllm.llm.tool_calling.text_tool_calls.turns import TurnEnds
from localllm.llm.tool_calling.text_tool_calls.yaml_calls import yaml_calls

Mode = Literal["text", "thinking"]
Said = list[TextChunk | ThinkingChunk]

_WINDOW = 2048
"""Characters scanned at once: otherwise a whole answer in one chunk would be searched repeatedly."""

_NO_TAG = re.compile("[^<]")
_LONGEST_FAILURE = 400
"""Maximum characters between the tags of a failed call."""

_QUOTING: dict[Kind, str] = {"fence": "", "token": "", "turn": "", "calls": '`"“「『', "element": '`"“「『'}
"""Characters that, directly before a literal of some kind, mark it as quoted. A backtick for all others."""

_ONLY_AT_THE_BEGINNING = ("<thinking>", "<thought>", "<reasoning>")


class Spotted(msgspec.Struct, frozen=True):
    """A call, and whether it was in the text or the thinking."""

    call: Found
    mode: Mode


class _Outcome(msgspec.Struct, frozen=True):
    """The result of a reading: its calls, and the state to continue in."""

    calls: tuple[Found, ...] = ()
    mode: Mode | None = None
    fence: str = ""
    is_shown: bool = False
    """Whether the text read is emitted after all."""


_Outcomes = Reading[_Outcome | None]


class Scanner:
    """Scans one streamed text. The calls found are in `calls`.

    `mode` is the initial state, until markup changes it. A reading that may need more text is a generator; while one is
    suspended, incoming text is buffered.
    """

    def __init__(self, offer: Offer, mode: Mode = "text") -> None:
        self.calls: list[Spotted] = []
        self.ended_thought_it_never_began = False
        self._offer = offer
        self._base: Mode = mode
        self._mode: Mode = mode
        self._source = Source()
        self._forms = CallReader(self._source, offer)
        self._tables = tables(offer.names.telling)
        self._reading: _Outcomes | None = None
        self._fence = ""
        self._fence_is_shown = True
        self._is_loose = False
        self.is_over = False
        self.goes_on = False
        self._out: Said = []
        self._has_thought = False
        self._has_said = False
        self._has_answered = False
        self._shows_markup = False
        self._kind: Kind = "token"
        self._turns = TurnEnds(self._source)
        # State of the output: whether its line is blank so far, its last character, whether that is white space (for
        # each mode); and the white space after it, which is emitted only if text follows.
        self._line_is_blank = True
        self._last = ""
        self._ends_blank: dict[Mode, bool] = {"text": True, "thinking": True}
        self._gap: list[str] = []
        self._after_markup = False

    def begin_in(self, mode: Mode) -> None:
        """Start in `mode`, until markup ends it."""
        self._mode = mode

    def feed(self, text: str) -> Said:
        """Return the chunks that can be emitted now."""
        said: Said = []
        for start in range(0, len(text), _WINDOW):
            self._source.push(text[start : start + _WINDOW])
            said += self._run()
        return said

    def close(self, *, was_cut: bool) -> Said:
        """Return what was buffered, at the end. `was_cut`: the text was truncated by the token limit."""
        self._source.ended = True
        self._source.was_cut = was_cut
        said = self._run()
        if self._gap and not self._after_markup:
            self._show("".join(self._gap))
            said += self._take_out()
        return said

    def _run(self) -> Said:
        while reading := self._reading or self._begin_reading():
            self._reading = reading
            try:
                next(reading)
                break
            except StopIteration as done:
                self._reading = None
                self._conclude(done.value)
        return self._take_out()

    def _take_out(self) -> Said:
        said, self._out = self._out, []
        return said

    @property
    def _table(self) -> Table:
        if self._fence:
            return self._tables.in_fence
        return self._tables.loose if self._is_loose else self._tables

    def _begin_reading(self) -> _Outcomes | None:
        """Emit the text before the next literal that may begin something, and start to read that.
        None if there is no such literal yet."""
        source = self._source
        text = source.text
        if self.is_over:
            self.goes_on = self.goes_on or bool(text.strip(BLANK))
            source.skip(len(text))
            source.mark()
            return None
        hit = self._table.find(text, line_is_blank=self._line_is_blank)
        if hit is None:
            if source.ended:
                held = self._table.cut(text) if source.was_cut else 0
            else:
                held = self._table.held(text, line_is_blank=self._line_is_blank)
            self._say(text[: len(text) - held])
            source.skip(len(text) - held)
            source.mark()
            return None
        start, literal, self._kind = hit
        self._say(text[:start])
        source.skip(start)
        source.mark()
        source.skip(len(literal))
        return self._recognise(self._kind, literal, source.marked)

    def _conclude(self, outcome: _Outcome | None) -> None:
        source = self._source
        if outcome and outcome.calls and self._turns.plays_both:
            outcome = None  # what the assistant of an invented conversation calls
        if outcome is None:
            self._shows_markup = True
            self._turns.note_literal(self._kind)
            source.go(source.marked)
            first = source.text[:1]
            source.skip(1)
            self._say(first)
        elif outcome.is_shown:
            self._say(source.since(source.marked))
        else:
            self._after_markup = self._line_is_blank = True
            self._gap = []
            self.calls += [Spotted(call, self._mode) for call in outcome.calls]
        if outcome:
            self._mode = outcome.mode or self._mode
            if outcome.fence and self._mode == "text":
                self._fence, self._fence_is_shown = outcome.fence, outcome.is_shown
        source.mark()

    # Readers for what may begin at a literal.

    def _recognise(self, kind: Kind, literal: str, start: int) -> _Outcomes:
        source = self._source
        if self._last and self._last in _QUOTING.get(kind, "`"):
            return None
        match kind:
            case "calls":
                return (yield from self._read_calls(literal))
            case "element":
                calls = yield from self._forms.element(literal, strict=bool(self._fence))
                yield from self._forms.closers()
                return _found(calls)
            case "functools":
                source.go(source.place - 1)
                return _found((yield from self._forms.payload(strict=False)))
            case "fence":
                source.go(start)
                return (yield from self._read_fence())
            case "json" | "bracket" | "name":
                source.go(start)
                return (yield from self._read_bare(kind))
            case "own_tag":
                calls = yield from self._forms.own_tag(literal[1:-1])
                return _found(calls) if (yield from self._counts(calls, alone=False)) else None
            case "action":
                return (yield from self._read_action())
            case "recipient":
                return (yield from self._read_recipient())
            case "user" | "assistant":
                if self._may_be_complete:
                    self._turns.note_speaker(kind)
                return None
            case _:
                return (yield from self._recognise_channel(kind, literal, start))

    def _recognise_channel(self, kind: Kind, literal: str, start: int) -> _Outcomes:
        """Read markup that switches between text and thinking."""
        source = self._source
        match kind:
            case "thinking" if self._mode == "thinking":
                return _Outcome()
            case "thinking":
                begins = self._line_is_blank and not (self._has_said and literal in _ONLY_AT_THE_BEGINNING)
                return _Outcome(mode="thinking") if begins else None
            case "thought":
                return self._end_thought()
            case "turn":
                return (yield from self._read_turn(literal))
            case "result" if self._has_called:
                return self._end_all()
            case "result" if literal in USER_TURNS and self._may_be_complete:
                return self._end_all() if (yield from source.peek()) == "\n" else (yield from self._read_stray(literal))
            case "orphan":
                return (yield from self._read_orphan())
            case "harmony":
                is_later = self._has_called or self._may_be_complete
                if literal == "<|start|>" and is_later and (yield from source.accept(*OTHERS_IN_HARMONY)):
                    return self._end_all()
                source.go(start)
                head = yield from read_head(source)
                if head is None:
                    return None
                mode: Mode | None = None if head.call else "thinking" if head.channel == "analysis" else "text"
                return _Outcome((head.call,) if head.call else (), mode)
            case "loose":
                return (yield from self._begin_loosely())
            case _:
                return (yield from self._read_stray(literal))

    def _begin_loosely(self) -> _Outcomes:
        """Read gpt-oss through a server that drops the special tokens: analysisWe need to …assistantfinalHello!"""
        if self._has_said or self._after_markup or not (yield from self._source.peek()).isupper():
            return None
        self._is_loose = True
        return _Outcome(mode="thinking")

    def _end_thought(self) -> _Outcome | None:
        """End the thinking.
        If no opener was seen, the template had written it: the preceding text has been emitted as text."""
        if self._mode == "text":
            if self._has_thought or self._last in ("'", '"'):
                return None
            self.ended_thought_it_never_began = True
        self._has_thought = True
        return _Outcome(mode=self._base)

    @property
    def _has_called(self) -> bool:
        return any(spotted.mode == "text" for spotted in self.calls)

    @property
    def _may_be_complete(self) -> bool:
        """Whether a turn that follows here would be an invented one."""
        return self._mode == "text" and (self._has_answered or self._has_called) and self._turns.may_follow

    def _end_all(self) -> _Outcome:
        """Ignore the rest: a result imagined by the model, another role's turn, or what follows the model's own."""
        self.is_over = True
        return _Outcome()

    def _read_turn(self, literal: str) -> _Outcomes:
        """Read the opener of a turn: the model's own is ignored, another's is invented."""
        source = self._source
        if (is_other := (yield from source.accept(*OTHER_TURNS))) and self._has_called:
            return self._end_all()
        is_own = "" if is_other else (yield from source.accept(*OWN_TURNS))
        is_head = (yield from source.accept(*HEADER_ENDS)) or (yield from source.peek()) == "\n"
        if is_other and is_head and self._may_be_complete:
            return self._end_all()
        is_repeated = is_head and self._may_be_complete
        return _Outcome() if is_own and (is_repeated or not self._has_said) else (yield from self._read_stray(literal))

    def _read_orphan(self) -> _Outcomes:
        """Read the closer of an argument after its call: the supposed end of the call was text of the argument, so the
        call must not be run truncated."""
        if not self.calls or not self.calls[-1].call.tagged:
            return None
        if self._after_markup and not (yield from self._forms.closers()):
            return _Outcome()
        call, mode = self.calls[-1].call, self.calls[-1].mode
        self.calls[-1] = Spotted(Found(call.name, call.tagged, closed=False), mode)
        return _Outcome()

    def _read_calls(self, literal: str) -> _Outcomes:
        """Read the content of call markup: calls, or, if a pair of tags has its lines to itself, a failed call."""
        source = self._source
        place = source.place
        calls = yield from self._forms.payload(strict=bool(self._fence))
        if calls:
            return _found(calls)
        source.go(place)
        if self._after_markup and self._has_called and not (yield from source.blank()):
            return _Outcome()  # meant as a closer
        source.go(place)
        if "call" not in literal or not self._line_is_blank or self._fence:
            return None
        written = yield from source.word(_NO_TAG, _LONGEST_FAILURE)
        if not (yield from self._forms.closers()) or not (yield from _line_ends(self._source)):
            return None
        if named := yaml_calls(written, self._offer, strict=False):
            return _found(named)
        return _Outcome((Found(UNNAMED, written.strip(), closed=False),))

    def _read_stray(self, literal: str) -> _Outcomes:
        """Read an unmatched closer or template token: dropped next to other markup or at the end, text within a
        sentence."""
        source = self._source
        if literal in HARMONY_ENDS and self._mode != self._base:
            return _Outcome(mode=self._base)
        is_alone = self._after_markup and not self._gap
        place = source.place
        char = yield from source.blank()
        if char and self._may_be_complete:
            is_glued = self._after_markup or self._last not in BLANK
            is_last_of_line = "\n" in source.since(place)
            if (yield from self._turns.ends_at(literal, is_glued=is_glued, is_last_of_line=is_last_of_line)):
                return self._end_all()
        return _Outcome() if is_alone or (char in ("", "<", "[") and not self._shows_markup) else None

    def _read_bare(self, kind: Kind) -> _Outcomes:
        """Read a call without markup, which has its lines to itself."""
        source = self._source
        if kind == "bracket" and (longer := (yield from source.accept(*self._tables.brackets))):
            return (yield from self._recognise(self._tables.brackets[longer], longer, source.marked))
        calls: Calls
        if kind == "name":
            calls = yield from self._forms.named(strict=True)
            is_name_alone = self._offer.names.understand(source.since(source.marked)) is not None
            if calls and (is_name_alone or not _fits(calls[0], self._offer)):
                return None
            yield from self._forms.closers()
        else:
            calls = yield from self._forms.payload(strict=True)
        if calls and not (yield from _line_ends(self._source)):
            return None
        return _found(calls) if (yield from self._counts(calls)) else None

    def _counts(self, calls: Calls, *, alone: bool = True) -> Reading[bool]:
        """Return whether calls recognised only by their form count. For another assistant's tool nothing may follow,
        and, if `alone`, nothing may precede: it may be an example in an answer about such tools."""
        if not any(self._offer.is_foreign(call.name) for call in calls or ()):
            return True
        return not (alone and self._has_answered) and (yield from self._ends_here())

    def _ends_here(self) -> Reading[bool]:
        """Return whether nothing follows; the position is kept."""
        source = self._source
        place = source.place
        is_end = not (yield from source.blank())
        source.go(place)
        return is_end

    def _read_action(self) -> _Outcomes:
        """Read Action: name, Action Input: and its arguments; or Command R's Action: and a JSON fence."""
        source = self._source
        char = yield from source.blank()
        if char in ("`", "{", "["):
            return _found((yield from self._forms.payload(strict=True)))
        calls = yield from self._forms.react()
        return _found(calls) if (yield from self._counts(calls, alone=False)) else None

    def _read_recipient(self) -> _Outcomes:
        """Read Functionary's >>>name and arguments; >>>all precedes text."""
        if (yield from self._source.accept("all\n")):
            self._is_loose = True
            return _Outcome(mode="text")
        return _found((yield from self._forms.named(strict=True)))

    def _read_fence(self) -> _Outcomes:
        """Read a fence: one that contains calls, a plain code block, or the end of an open one."""
        source = self._source
        mark = yield from source.peek()
        start = source.place
        while (yield from source.peek()) == mark:
            source.skip(1)
        fence = source.since(start)
        info, end = yield from source.line()
        if self._fence:
            if not fence.startswith(self._fence) or info.strip():
                return None
            was_shown, self._fence = self._fence_is_shown, ""
            return _Outcome(is_shown=was_shown)
        if "`" in info:
            return None
        if not end:
            return _Outcome(is_shown=True, fence=fence)
        behind = source.place
        is_python = info.strip().lower() in PYTHON_FENCES
        calls = yield from self._forms.fenced(info.strip(), is_first=not self._has_answered)
        if not calls:
            source.go(behind)
            return _Outcome(is_shown=True, fence=fence)
        place = source.place
        yield from source.blank()
        is_closed = bool((yield from source.accept(fence)))
        is_part = is_python and not (is_closed and (yield from self._ends_here()))
        if is_part or not (yield from self._counts(calls)):
            source.go(behind)
            return _Outcome(is_shown=True, fence=fence)
        if is_closed:
            return _Outcome(tuple(calls))
        source.go(place)
        return _Outcome(tuple(calls), fence=fence)

    # Output.

    def _say(self, text: str) -> None:
        """Emit `text`. White space at the beginning, or after markup, is buffered until text follows."""
        if not text:
            return
        line = text.rfind("\n")
        self._line_is_blank = (line >= 0 or self._line_is_blank) and not text[line + 1 :].strip(BLANK)
        self._last = text[-1]
        if self._mode == "text":
            self._turns.note_text(text)
        if self._after_markup or not self._has_said:
            self._gap.append(text)
            if not text.strip(BLANK):
                return
            text = "".join(self._gap)
            if self._after_markup and self._ends_blank[self._mode]:
                text = text.lstrip(BLANK)
            self._gap = []
            self._after_markup = False
        self._show(text)

    def _show(self, text: str) -> None:
        if self._mode == "thinking" and text.strip(BLANK):
            # The thinking continues: the calls before were drafts.
            self.calls = [spotted for spotted in self.calls if spotted.mode == "text"]
        self._has_said = True
        self._has_answered = self._has_answered or (self._mode == "text" and bool(text.strip(BLANK)))
        self._ends_blank[self._mode] = text[-1] in BLANK
        self._out.append(TextChunk(text) if self._mode == "text" else ThinkingChunk(text))


def _found(calls: Calls) -> _Outcome | None:
    return _Outcome(tuple(calls)) if calls else None


def _fits(call: Found, offer: Offer) -> bool:
    """Return whether what follows a name at the start of a line can only be the arguments of a call."""
    arguments = repair_json(call.arguments)
    if arguments is None:
        return not call.closed
    given = msgspec.json.decode(arguments, type=dict[str, object])
    return offer.fits(call.name, given) or offer.fits(call.name, given, bare=True)


def _line_ends(source: Source) -> Reading[bool]:
    """Return whether only separators or markup follow on this line; the position is kept."""
    place = source.place
    while (char := (yield from source.peek())) in (" ", "\t", "\r", ";", ",") and char:
        source.skip(1)
    source.go(place)
    return char in ("", "\n", "<", "[", "{", "}", "`")
