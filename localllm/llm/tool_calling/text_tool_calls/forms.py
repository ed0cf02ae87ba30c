"""Parse tool calls in each textual form, and detect whether a text begins one.

A reader returns the calls it found, or None for anything else; the caller then resets the position. `strict`: accept
only the names of offered tools, wherever a text that looks like a call may be part of an answer.
"""

import re

import msgspec

from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.arguments import tidied
from localllm.llm.tool_calling.json_repair import COLONS, keywords_to_json, repair_json
from localllm.llm.tool_calling.text_tool_calls.markers import CALL_OPENERS, CLOSERS, ELEMENTS, SEPARATORS
from localllm.llm.tool_calling.text_tool_calls.payloads import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    Found,
    Offer,
    read_calls,
)
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source
from localllm.llm.tool_calling.text_tool_calls.tagged import TaggedReader, end_of
from localllm.llm.tool_calling.text_tool_calls.yaml_calls import names_call, yaml_calls

_KEY = re.compile(r"[\w.\-$]")
_DEEPEST_LIST = 4
"""Maximum nesting of lists that may contain calls."""
_COMMAS = (",", "，", "、")
_KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *CALL_KEYS, *OTHER_KEYS))


class CallProbe:
    """Probes the JSON at the current position. Once a value has reached the end of the text unterminated, nothing in it
    is probed again: a text of opening braces would take quadratic time."""

    def __init__(self, source: Source, offer: Offer) -> None:
        self._source = source
        self._offer = offer
        self._ran_out = False

    def may_be_call(self) -> Reading[bool]:
        """Return whether the JSON here calls an offered tool.
        Reads no more than needed, so that JSON in an answer is not delayed."""
        source = self._source
        while not self._ran_out:
            for _ in range(_DEEPEST_LIST):
                if (yield from source.peek()) != "[":
                    break
                source.skip(1)
                yield from source.blank()
            if (yield from source.peek()) != "{":
                return False
            source.skip(1)
            if (yield from source.gap()) == "{":  # doubled, as in templates
                source.skip(1)
            verdict = yield from self._member_tells()
            self._ran_out = source.ended and not source.text
            if verdict is not None:
                return verdict
        return False

    def _member_tells(self) -> Reading[bool | None]:
        """Return whether the members of the object here identify a call; None if their value decides."""
        source = self._source
        while True:
            yield from source.gap()
            key = yield from self._key()
            if (yield from source.gap()) not in COLONS:
                return False
            source.skip(1)
            if key not in _KEYS and key not in self._offer.names:
                return False
            char = yield from source.gap()
            if char in ("{", "[") and key in (*CALL_KEYS, *LIST_KEYS):
                return None
            if key in NAME_KEYS:
                return self._offer.names.understand((yield from self._text_of_string())) is not None
            if key in self._offer.names:
                return char == "{"
            if not (yield from self._over_value()) or (yield from source.gap()) not in _COMMAS:
                return False
            source.skip(1)

    def _key(self) -> Reading[str]:
        return (yield from self._text_of_string()) or (yield from self._source.word(_KEY))

    def _text_of_string(self) -> Reading[str]:
        source = self._source
        start = source.place
        quote = yield from source.string()
        return source.since(start)[len(quote) : -len(quote)] if quote else ""

    def _over_value(self) -> Reading[bool]:
        source = self._source
        if (yield from source.peek()) in ("{", "["):
            return (yield from source.value())
        return bool((yield from self._source.string()) or (yield from source.word(_KEY)))


Calls = list[Found] | None

NAME = late_pattern(r"[\w.\-:/]")
_CLOSER = late_pattern("|".join(re.escape(closer) for closer in (*CLOSERS, "```")), re.IGNORECASE | re.ASCII)
_LONGEST_CLOSER = max(len(closer) for closer in CLOSERS)
_LINE_END = late_pattern(r"\n")
_CALL_FENCES = frozenset({"tool_code", "tool_call", "tool_calls", "tool", "tools", "function_call", "function", "call"})
PYTHON_FENCES = frozenset({"python", "py"})
_JSON_FENCES = frozenset({"", "json", "jsonc", "json5"})
_YAML_FENCES = frozenset({"yaml", "yml"})
_FENCE = late_pattern(r"\n```")
_DEEPEST = 6
"""Maximum wrappers around a call: <tool_calls><tool_call>```json …"""

_TAG_END = late_pattern(r"[<>\n]")
_ATTRIBUTE_END = late_pattern(r"[<>{(\n]")
_NAME_IN_TAG = late_pattern(r"""\s*["']?([\w.\-:/]+)["']?(?:\s+[\w:]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*""")


class CallReader:
    """Parses calls from `source`."""

    def __init__(self, source: Source, offer: Offer) -> None:
        self._source = source
        self._offer = offer
        self._tagged = TaggedReader(source, offer)
        self._probe = CallProbe(source, offer)
        self._depth = 0

    def payload(self, *, strict: bool) -> Reading[Calls]:
        """Read one or more calls in any form, and the markup that ends them."""
        source = self._source
        calls: list[Found] = []
        while True:
            place = source.place
            char = yield from source.blank(",;" if calls else "")
            if calls and char not in ("{", "[") and not char.isalpha():
                break
            found = yield from self._element(strict=strict or (bool(calls) and char.isalpha()))
            if not found:
                break
            calls += found
            yield from self._over_leavings()
            if (yield from self.closers()):
                return calls
        source.go(place)
        return calls or None

    def _over_leavings(self) -> Reading[None]:
        """Skip excess brackets, and a comment before the end markup."""
        source = self._source
        place = source.place
        while (yield from source.blank()) in ("}", "]"):
            source.skip(1)
            place = source.place
        if (yield from source.peek(2)) == "//":
            yield from source.line()
            behind = source.place
            if (yield from self.closers()):
                place = behind
        source.go(place)

    def closers(self) -> Reading[bool]:
        """Skip markup that ends calls; return whether there was any."""
        source = self._source
        seen = False
        while True:
            place = source.place
            yield from source.blank()
            if not (yield from source.accept(*CLOSERS)):
                source.go(place)
                return seen
            seen = True

    def _element(self, *, strict: bool) -> Reading[Calls]:
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        calls = yield from self._read_element(strict=strict)
        self._depth -= 1
        return calls

    def _read_element(self, *, strict: bool) -> Reading[Calls]:
        source = self._source
        match (yield from source.peek()):
            case "{":
                return (yield from self.json(strict=strict))
            case "[":
                return (yield from self._in_brackets(strict=strict))
            case "`":
                return (yield from self._in_fence(strict=strict))
            case "<":
                return (yield from self._in_tags(strict=strict))
            case '"' if not strict:
                return (yield from self._in_string())
            case char if char.isalpha() or char == "_":
                return (yield from self.named(strict=strict))
            case _:
                return None

    def json(self, *, strict: bool) -> Reading[Calls]:
        """Read calls in JSON."""
        source = self._source
        start = source.place
        if strict:
            likely = yield from self._probe.may_be_call()
            source.go(start)
            if not likely:
                return None
        closed = yield from source.value()
        if not closed:
            if not (yield from source.peek()):
                source.go(start)  # unbalanced quotes: what looked like a string may contain the closing tag
            closed = yield from self._to_closer()
        closes = closed or not source.was_cut
        return read_calls(source.since(start), self._offer, strict=strict, closed=closed, closes=closes)

    def _in_string(self) -> Reading[Calls]:
        """Read a call encoded as JSON in a JSON string."""
        written = repair_json(f"[{(yield from self._whole_string())}]")
        if written is None:
            return None
        (text,) = msgspec.json.decode(written, type=list[str])
        return read_calls(text, self._offer, strict=False, closed=True, closes=True)

    def _whole_string(self) -> Reading[str]:
        source = self._source
        start = source.place
        yield from source.string()
        return source.since(start)

    def _to_closer(self) -> Reading[bool]:
        """Skip to the markup that ends a call, or to the end of the text; return whether there is any."""
        source = self._source
        _, closer = yield from source.until(_CLOSER, _LONGEST_CLOSER)
        source.go(source.place - len(closer))
        return bool(closer)

    def named(self, *, strict: bool) -> Reading[Calls]:
        """Read a name followed by its arguments: JSON, Python's keywords, or tags."""
        source = self._source
        name = yield from source.word(NAME)
        if name == "json" and not strict and (yield from source.blank()) in ("{", "["):
            return (yield from self.json(strict=False))
        if strict and self._offer.names.understand(name) is None:
            return None
        if (yield from source.accept("[call_id]")):
            yield from source.word(NAME)
        yield from source.blank()
        separator = yield from source.accept(*SEPARATORS)
        if separator and name == "function":
            # DeepSeek V3 and Step 3 write the kind of the call before the separator.
            if (yield from source.blank()) == "<":
                return (yield from self._element(strict=strict))
            name = yield from source.word(NAME)
        found = yield from self._arguments_of(name, is_certain=bool(separator))
        return [found] if found else None

    def _arguments_of(self, name: str, *, is_certain: bool, in_fence: bool = False) -> Reading[Found | None]:
        source = self._source
        match (yield from source.blank()):
            case "{":
                return (yield from self._json_arguments(name))
            case "(":
                return (yield from self._keyword_arguments(name))
            case "`" if not in_fence and (yield from source.accept("```")):
                yield from source.find(_LINE_END)
                found = yield from self._arguments_of(name, is_certain=is_certain, in_fence=True)
                yield from source.blank()
                yield from source.accept("```")
                return found
            case "<" if (yield from self._tagged.begins_parameter()):
                return (yield from self._tagged.parameters(name, "</tool_call>"))
            case char:
                return (yield from self._without_arguments(name, char, is_certain=is_certain))

    def _without_arguments(self, name: str, char: str, *, is_certain: bool) -> Reading[Found | None]:
        place = self._source.place
        ends = not char or (yield from self.closers())
        self._source.go(place)
        if not ends or not (is_certain or self._offer.names.resolve(name)):
            return None
        nothing = "{}" if char or not self._source.was_cut else ""
        return Found(tidied(name), nothing, closed=bool(char))

    def _json_arguments(self, name: str) -> Reading[Found]:
        source = self._source
        start = source.place
        closed = yield from source.value()
        if not closed:
            if not (yield from source.peek()):
                source.go(start)
            closed = yield from self._to_closer()
        return Found(tidied(name), source.since(start).rstrip(), closed)

    def _keyword_arguments(self, name: str) -> Reading[Found | None]:
        source = self._source
        start = source.place
        closed = yield from source.value()
        written = source.since(start)
        fixed = keywords_to_json(written, list(self._offer.parameters(name)), closes=closed or not source.was_cut)
        if fixed is not None:
            return Found(tidied(name), fixed, closed)
        is_call = re.match(r"\(\s*\w+\s*=\s*\S", written) and not closed and self._offer.tool(name)
        return Found(tidied(name), written.rstrip(), closed=False) if is_call else None

    def _in_brackets(self, *, strict: bool) -> Reading[Calls]:
        """Read a JSON array, or Python's [name(key="value"), …]."""
        source = self._source
        start = source.place
        source.skip(1)
        char = yield from source.blank()
        if not (char.isalpha() or char == "_"):
            source.go(start)
            return (yield from self.json(strict=strict))
        calls: list[Found] = []
        while (yield from source.blank(",")) not in ("]", ""):
            found = yield from self.python_call(strict=strict)
            if not found:
                return None
            calls += found
        yield from source.accept("]")
        return calls or None

    def python_call(self, *, strict: bool) -> Reading[Calls]:
        """Read name(key="value", …)."""
        source = self._source
        name = yield from source.word(NAME)
        if (strict and self._offer.names.understand(name) is None) or (yield from source.peek()) != "(":
            return None
        found = yield from self._keyword_arguments(name)
        return [found] if found else None

    def _in_fence(self, *, strict: bool) -> Reading[Calls]:
        source = self._source
        if not (yield from source.accept("```")):
            return None
        yield from source.find(_LINE_END)
        calls = yield from self.payload(strict=strict)
        yield from source.blank()
        yield from source.accept("```")
        return calls

    def _in_tags(self, *, strict: bool) -> Reading[Calls]:
        source = self._source
        if element := (yield from source.accept(*ELEMENTS)):
            return (yield from self.element(element, strict=strict))
        if (yield from source.accept(*CALL_OPENERS)):
            yield from source.blank()
            return (yield from self._element(strict=strict))
        return self._as_calls((yield from self._tagged.named_by_children()), strict=strict)

    def element(self, opener: str, *, strict: bool) -> Reading[Calls]:
        """Read <function=name>…</function> or <invoke name="name">…</invoke>, from after the equals sign."""
        source = self._source
        written, end = yield from source.until(_ATTRIBUTE_END if opener == "<function=" else _TAG_END, 1)
        if end in ("{", "("):
            source.go(source.place - 1)
        tag = _NAME_IN_TAG.fullmatch(written)
        if not tag or end in ("", "<"):
            return None
        name = tidied(tag.group(1))
        if strict and self._offer.names.understand(name) is None:
            return None
        match (yield from source.blank()):
            case "{":
                found = yield from self._json_arguments(name)
            case "(":
                found = yield from self._keyword_arguments(name)
            case _:
                found = yield from self._tagged.parameters(name, end_of(opener))
        return [found] if found else None

    def own_tag(self, name: str) -> Reading[Calls]:
        """Read <read_file><file_path>…</file_path></read_file>, from after the first tag."""
        if (yield from self._source.blank()) == "{":
            found = yield from self._json_arguments(name)
            yield from self._source.blank()
            yield from self._source.accept(f"</{name}>")
            return [found]
        found = yield from self._tagged.children(name, f"</{name}>")
        return [found] if found else None

    def fenced(self, info: str, *, is_first: bool) -> Reading[Calls]:
        """Read calls of offered tools in a code block labelled `info`. Python counts only if the label says so, or if
        the block is the first of the answer and contains nothing but such calls."""
        source = self._source
        kind = info.lower()
        if kind in _YAML_FENCES:
            return (yield from self._yaml())
        char = yield from (source.gap() if kind in _JSON_FENCES else source.blank())
        if char in ("{", "[", "<"):
            name = self._offer.names.resolve(info) if info and char == "{" else None
            if name:
                return [(yield from self._json_arguments(name))]
            return (yield from self.payload(strict=True))
        may_be_code = kind in PYTHON_FENCES and is_first
        if kind not in _CALL_FENCES and not may_be_code:
            return None
        calls: list[Found] = []
        while True:
            place = source.place
            yield from source.blank(";")
            printed = yield from source.accept("print(")
            found = yield from self.named(strict=True)
            if not found:
                source.go(place)
                is_all = not may_be_code or (yield from source.blank()) == "`"
                return calls or None if is_all else None
            if may_be_code and not all(map(self._is_whole, found)):
                return None
            calls += found
            if printed:
                yield from source.blank()
                yield from source.accept(")")

    def _is_whole(self, call: Found) -> bool:
        """Return whether a call of an offered tool has all required arguments and no unknown ones."""
        given = repair_json(call.arguments)
        keys = msgspec.json.decode(given, type=dict[str, object]) if given else {}
        is_ours = call.closed and not self._offer.is_foreign(call.name)
        return is_ours and set(self._offer.required(call.name)) <= keys.keys() <= set(self._offer.parameters(call.name))

    def _yaml(self) -> Reading[Calls]:
        """Read a call in YAML that fills a code block, up to the closing fence."""
        source = self._source
        start = source.place
        if not names_call((yield from source.line())[0], self._offer):
            return None
        source.go(start)
        text, fence = yield from source.until(_FENCE, len("\n```"))
        source.go(source.place - len(fence))
        return yaml_calls(text, self._offer, strict=True)

    def react(self) -> Reading[Calls]:
        """Read name, Action Input: arguments."""
        source = self._source
        name = yield from source.word(NAME)
        if self._offer.names.understand(name) is None:
            return None
        yield from source.blank("*`")
        if not (yield from source.accept("action input:", "action_input:", "input:", "arguments:", "args:")):
            found = None if self._offer.is_foreign(name) else (yield from self._arguments_of(name, is_certain=False))
            return [found] if found else None
        yield from source.blank("*")
        if (yield from source.peek()) in ("{", "`"):
            found = yield from self._arguments_of(name, is_certain=True)
            return [found] if found else None
        line, end = yield from source.line()
        if not line.strip():
            return None
        if source.was_cut and not end:
            return [Found(name, line.strip(), closed=False)]
        return [Found(name, encode_json(line.strip().strip('"')).decode())]

    def _as_calls(self, found: Found | None, *, strict: bool) -> Calls:
        if found is None or (strict and self._offer.names.understand(found.name) is None):
            return None
        return [found]
