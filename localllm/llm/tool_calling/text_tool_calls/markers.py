"""Markup that delimits calls and thinking in text, and lookup tables for it."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Literal

import msgspec

from localllm.llm.tool_calling.arguments import tidied
from localllm.llm.tool_calling.text_tool_calls.payloads import Found
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

CALL_OPENERS = (
    "<tool_call>",  # Hermes, Qwen, GLM, Granite 4, ERNIE, …
    "<tool_calls>",  # Hunyuan, Jamba, MiniMax M1, Apriel
    "<toolcall>",  # Nemotron
    "<tool>",
    "<tools>",
    "<tool_use>",
    "<tool_code>",
    "<function_call>",  # Granite 20b
    "<function_calls>",  # Olmo 3, Claude
    "<functioncall>",  # Glaive
    "<tool-call>",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<longcat_tool_call>",
    "<|tool_call|>",  # Granite 3, Phi-4
    "<|tool_calls|>",
    "<|tool_call_start|>",  # LFM2
    "<|tool_call>",  # Gemma 4
    "<start_function_call>",  # FunctionGemma
    "<|function_call|>",
    "<|python_tag|>",  # Llama 3
    "<|python_start|>",  # Llama 4
    "<|start_action|>",  # Command R7B and A
    "<|action_start|><|plugin|>",  # InternLM
    "<|tools_prefix|>",  # Apertus
    "<|tool_calls_section_begin|>",  # Kimi K2
    "<|tool_call_begin|>",
    "<｜tool▁calls▁begin｜>",  # DeepSeek V3, R1
    "<｜tool▁call▁begin｜>",
    "<|tool▁calls▁begin|>",
    "<|tool▁call▁begin|>",
    "<｜tool_calls_begin｜>",  # Step 3
    "<｜tool_call_begin｜>",
    "<｜dsml｜function_calls>",  # DeepSeek V3.2
    "<｜dsml｜tool_calls>",
    "[tool_calls]",  # Mistral
    "[tool_call]",
    "[tool_request]",  # LM Studio's own
)
"""Openers of one or more calls, in any form. Lower case; matching ignores case."""

_NAMESPACES = ("", "minimax:", "steptml:", "antml:", "｜dsml｜", "|dsml|")

ELEMENTS = (
    "<function=",  # Llama 3, Qwen3-Coder, Nemotron 3, Step 3.7
    "<function name=",
    "<tool_call name=",
    "<tool name=",
    "<tool_use name=",
    *(f"<{namespace}invoke name=" for namespace in _NAMESPACES),  # MiniMax M2, Claude, DeepSeek V3.2
)
"""Openers of a single call, followed by its name up to the next >."""

CLOSERS = (
    *(f"</{opener[1:]}" for opener in CALL_OPENERS if opener[0] == "<"),
    *(f"</{namespace}{name}>" for namespace in _NAMESPACES for name in ("invoke", "function_calls", "tool_calls")),
    "</function>",
    "<|/tool_call|>",
    "<|/tool_calls|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<tool_call|>",
    "<end_function_call>",
    "<|python_end|>",
    "<|end_action|>",
    "<|action_end|>",
    "<|tools_suffix|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool▁call▁end|>",
    "<|tool▁calls▁end|>",
    "<｜tool_call_end｜>",
    "<｜tool_calls_end｜>",
    "[/tool_calls]",
    "[/tool_call]",
    "[end_tool_request]",
    "<|call|>",
)
"""Markup that ends calls. Models mix it up, so any closer ends any call."""

SEPARATORS = (
    "[args]",
    "<|tool_call_argument_begin|>",
    "<｜tool▁sep｜>",
    "<|tool▁sep|>",
    "<｜tool_sep｜>",
)
"""Separators between a call's name and its arguments."""

PARAMETERS = {
    "<parameter=": "</parameter>",
    "<param name=": "</param>",
    **{f"<{namespace}parameter name=": f"</{namespace}parameter>" for namespace in _NAMESPACES},
}
"""Openers of an argument, followed by its name up to the next >, and their closers."""

THINKING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[think]": "[/think]",  # Magistral
    "◁think▷": "◁/think▷",  # Kimi VL
    "<|start_thinking|>": "<|end_thinking|>",  # Command R7B and A
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel>thought": "<channel|>",  # Gemma 4
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
}
"""Openers of the model's thinking, and their closers."""

HARMONY = ("<|start|>", "<|channel|>", "<|from|>", "<|recipient|>")
"""Openers of a message head of gpt-oss, and of Functionary 2."""

HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>")

HARMONY_LOOSE = ("to=functions.", "commentary to=", "assistant to=", "assistantcommentary to=", "analysis to=")
"""The same head if the server has dropped the special tokens; only at the start of a line."""

TURN_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|eot|>",
    "<eos>",
    "</s>",
    "<|end|>",  # Phi; in Harmony the end of a message only
    "<|return|>",
)
"""Tokens at which a server should have stopped: what follows is no part of the answer."""

SPECIAL_TOKENS = (
    *TURN_ENDS,
    "<|end_of_role|>",
    "<|begin_of_text|>",
    "<｜begin▁of▁sentence｜>",
    "<|assistant|>",
    "<｜assistant｜>",
    "<end_code>",  # smolagents
    "<s>",
    "<|start_response|>",
    "<|end_response|>",
    "<|start_text|>",
    "<|end_text|>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|message|>",
    *HARMONY_ENDS,
)
"""Tokens of chat templates that a server should have removed."""

TURNS = (
    "<|im_start|>",
    "<|start_header_id|>",  # Llama 3
    "<|header_start|>",  # Llama 4
    "<|start_of_role|>",  # Granite
    "<start_of_turn>",  # Gemma
)
"""Openers of a turn, followed by its role."""

OWN_TURNS = ("assistant", "model")
OTHER_TURNS = ("user", "tool", "ipython", "system")
HEADER_ENDS = ("<|end_header_id|>", "<|header_end|>", "<|end_of_role|>")

USER_TURNS = ("<|user|>", "<｜user｜>")  # Phi, GLM; DeepSeek

RESULTS = (
    "<tool_response>",  # Hermes, Qwen
    "<tool_result>",
    "<function_results>",
    "<|observation|>",  # GLM
    "[tool_results]",  # Mistral
    "<|tool_response|>",
    "<｜tool▁outputs▁begin｜>",  # DeepSeek
    *USER_TURNS,
)
"""Openers of a call's result, or of the user's turn. After a call they start a text invented by the model."""

OTHERS_IN_HARMONY = ("functions.", "user", "system", "developer")
"""Names after <|start|> other than the model's."""

ORPHANS = (*dict.fromkeys(PARAMETERS.values()), "</arg_value>")
"""Closers of an argument. After its call they show that the call did not end where it seemed to."""


_RECIPIENT = re.compile(r"[\w.\-:/]")
_CHANNELS = ("analysis", "commentary", "final")
_WORDS = ("assistant", *_CHANNELS, "<|constrain|>", "json", "code", "to=", "<|message|>", "<|content|>", *HARMONY)
_MOST_WORDS = 16
"""Maximum words of a head; the longest have ten."""
_END = re.compile("|".join(map(re.escape, (*HARMONY_ENDS, *HARMONY))))
_LONGEST = max(map(len, (*HARMONY_ENDS, *HARMONY)))


class Head(msgspec.Struct, frozen=True):
    """The content of a head: a call, which is read too, or the channel of the following text."""

    channel: str = ""
    call: Found | None = None


def read_head(source: Source) -> Reading[Head | None]:
    """Read the head here, even if pieces are missing; None if there is none."""
    channel = recipient = ""
    seen = False
    for _ in range(_MOST_WORDS):
        place = source.place
        yield from source.blank()
        word = yield from source.accept(*_WORDS)
        if word in ("to=", "<|recipient|>"):
            recipient = yield from source.word(_RECIPIENT)
        elif word in _CHANNELS:
            channel = word
        elif not word:
            source.go(place)
            break
        seen = seen or word not in HARMONY
        if word in ("<|message|>", "<|content|>"):
            break
    if recipient and recipient != "all":
        return Head(channel, (yield from _read_call(source, tidied(recipient))))
    return Head(channel) if seen else None


def _read_call(source: Source, name: str) -> Reading[Found]:
    yield from source.blank()
    start = source.place
    closed = (yield from source.peek()) in ("{", "[") and (yield from source.value())
    if not closed:
        source.go(start)
        written, end = yield from source.until(_END, _LONGEST)
        source.go(source.place - len(end))
        closed = bool(end)
    else:
        written = source.since(start)
    yield from source.blank()
    yield from source.accept(*HARMONY_ENDS)
    return Found(name, written.strip(), closed)


Kind = Literal[
    "calls",
    "element",
    "closer",
    "thinking",
    "thought",
    "harmony",
    "token",
    "json",
    "bracket",
    "fence",
    "action",
    "recipient",
    "functools",
    "loose",
    "name",
    "own_tag",
    "turn",
    "result",
    "orphan",
    "user",
    "assistant",
]
"""What a literal starts; "thought" is the end of thinking, "orphan" that of an argument."""

_CALLS: dict[str, Kind] = {
    **dict.fromkeys(ORPHANS, "orphan"),
    **dict.fromkeys(CLOSERS, "closer"),
    **dict.fromkeys(CALL_OPENERS, "calls"),
    **dict.fromkeys(ELEMENTS, "element"),
}
_NO_CALLS: dict[str, Kind] = {
    **dict.fromkeys(SPECIAL_TOKENS, "token"),
    **dict.fromkeys(TURNS, "turn"),
    **dict.fromkeys(RESULTS, "result"),
    **dict.fromkeys(THINKING, "thinking"),
    **dict.fromkeys(THINKING.values(), "thought"),
    **dict.fromkeys(HARMONY, "harmony"),
}
_SPEAKERS: dict[str, Kind] = {"user:": "user", "human:": "user", "assistant:": "assistant", "ai:": "assistant"}
"""Turns written in plain words."""
_FENCES: dict[str, Kind] = {"```": "fence", "~~~": "fence"}
_AT_LINE_START: dict[str, Kind] = {
    **dict.fromkeys(HARMONY_LOOSE, "harmony"),
    "{": "json",
    "[": "bracket",
    "action:": "action",
    ">>>": "recipient",
    "functools[": "functools",
    "analysis": "loose",
    **_SPEAKERS,
}
_LOOSE: dict[str, Kind] = {
    ">>>": "recipient",
    **dict.fromkeys(("assistantfinal", "assistantcommentary", "assistantanalysis"), "harmony"),
}


_TELLING = 4
"""Characters after which the start of a literal is unlikely to be anything else: <fun, [too."""

_OF_MARKUP = ("<", "[", "◁")

_NEAR = 1024
"""Characters searched first: otherwise a long text with many literals would be searched to its end for each."""

_CASELESS = re.IGNORECASE | re.ASCII
"""Without re.ASCII, letters such as ſ would match s, which no table contains."""


class Table:
    """The literals relevant in one state of the parser: anywhere, and at the start of a line."""

    def __init__(self, anywhere: Mapping[str, Kind], at_line_start: Mapping[str, Kind]) -> None:
        self._kinds: dict[str, Kind] = {**at_line_start, **anywhere}
        self._literals_anywhere = anywhere
        self._literals_at_line_start = at_line_start
        self._line_openings = {literal[:2].lower() for literal in at_line_start}
        self._beginnings = _beginnings(anywhere)
        self._line_beginnings = _beginnings(at_line_start)
        self._first = re.compile("|".join({re.escape(literal[0]) for literal in anywhere}) or "(?!)")
        self._longest = max((len(literal) for literal in anywhere), default=0)
        self._longest_of_all = max(map(len, self._kinds), default=0)

    # Compiled on first use: prose needs neither, and compiling takes ten milliseconds.

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        return re.compile(f"({_any_of(self._literals_anywhere)})", _CASELESS)

    @cached_property
    def _at_line_start(self) -> re.Pattern[str]:
        return re.compile(rf"^[ \t]*({_any_of(self._literals_at_line_start)})", _CASELESS | re.MULTILINE)

    def _may_begin_line(self, text: str) -> bool:
        """Return whether a line of `text` may begin with one of the literals."""
        openings = (line.lstrip(" \t")[:2].lower() for line in text.split("\n"))
        return any(one in self._line_openings or one[:1] in self._line_openings for one in openings)

    def find(self, text: str, *, line_is_blank: bool) -> tuple[int, str, Kind] | None:
        """Return the first literal in `text`: its position, text and kind.
        `line_is_blank`: only white space precedes `text` on its first line."""
        start = 0 if line_is_blank else text.find("\n") + 1 or len(text)
        first = self._first_hit(text, start, _NEAR) if len(text) > _NEAR else None
        if first is None or first.start(1) > _NEAR - self._longest_of_all:
            first = self._first_hit(text, start, len(text))
        if first is None:
            return None
        literal = first.group(1).lower()
        return first.start(1), literal, self._kinds[literal]

    def _first_hit(self, text: str, start: int, end: int) -> re.Match[str] | None:
        is_likely = "_at_line_start" in vars(self) or self._may_begin_line(text[start:end])
        at_line_start = self._at_line_start.search(text, start, end) if is_likely else None
        if at_line_start:
            end = min(end, at_line_start.start(1) + self._longest)
        is_likely = "_anywhere" in vars(self) or self._first.search(text, 0, end)
        hits = [self._anywhere.search(text, 0, end) if is_likely else None, at_line_start]
        return min((hit for hit in hits if hit), key=lambda hit: (hit.start(1), -hit.end(1)), default=None)

    def cut(self, text: str) -> int:
        """Return how many characters at the end of the truncated `text` can only be the start of markup."""
        held = self.held(text, line_is_blank=False)
        return held if held >= _TELLING and text[-held] in _OF_MARKUP else 0

    def held(self, text: str, *, line_is_blank: bool) -> int:
        """Return how many characters at the end of `text` may be the start of a literal."""
        tail = text[-self._longest :] if self._longest else ""
        at = next(
            (hit.start() for hit in self._first.finditer(tail) if tail[hit.start() :].lower() in self._beginnings), None
        )
        held = len(tail) - at if at is not None else 0
        line = text.rfind("\n")
        if line >= 0 or line_is_blank:
            last = text[line + 1 :].lstrip(" \t")
            if last.lower() in self._line_beginnings:
                return max(held, len(last))
        return held


class Tables(Table):
    """The table of running text, and its variants for certain states."""

    def __init__(self, names: Iterable[str]) -> None:
        calls: dict[str, Kind] = dict(_CALLS)
        at_line_start: dict[str, Kind] = {}
        for name in names:
            at_line_start |= {name.lower(): "name", f"<{name.lower()}>": "own_tag"}
        if at_line_start:
            at_line_start |= {**_AT_LINE_START, **_FENCES}
        else:
            calls = {}
        anywhere: dict[str, Kind] = {**_NO_CALLS, **calls}
        super().__init__(anywhere, at_line_start)
        self._calls = calls
        self._literals = anywhere, at_line_start
        self.brackets: dict[str, Kind] = {literal: kind for literal, kind in anywhere.items() if literal[0] == "["}
        """Literals that begin with [ and are not just a list."""

    # Built on first use: most answers need neither, and each takes milliseconds.

    @cached_property
    def in_fence(self) -> Table:
        """The table of a code block."""
        openers: dict[str, Kind] = {
            literal: kind for literal, kind in self._calls.items() if kind not in ("closer", "orphan")
        }
        return Table({}, {**openers, **_FENCES})

    @cached_property
    def loose(self) -> Table:
        """The table of an answer whose first words show that the server drops the tokens between its parts."""
        anywhere, at_line_start = self._literals
        return Table({**anywhere, **_LOOSE}, at_line_start)


@lru_cache(maxsize=8)
def tables(names: tuple[str, ...]) -> Tables:
    """Return the tables for the tools called `names`; without tools nothing is a call."""
    return Tables(names)


def _any_of(literals: Mapping[str, Kind]) -> str:
    return "|".join(map(re.escape, sorted(literals, key=len, reverse=True))) or "(?!)"


def _beginnings(literals: Mapping[str, Kind]) -> frozenset[str]:
    return frozenset(literal[:length] for literal in literals for length in range(1, len(literal)))
