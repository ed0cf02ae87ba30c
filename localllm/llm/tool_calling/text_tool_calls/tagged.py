"""Parse arguments in tags, with raw values between the tags: a file's text needs no escaping there."""

import re
from collections.abc import Collection, Iterable

import msgspec

from localllm.base.events import Json
from localllm.base.jsontext import encode_json
from localllm.base.lazy_patterns import late_pattern
from localllm.llm.tool_calling.arguments import tidied
from localllm.llm.tool_calling.json_repair import repair_json
from localllm.llm.tool_calling.text_tool_calls.markers import CALL_OPENERS, CLOSERS, ELEMENTS, PARAMETERS
from localllm.llm.tool_calling.text_tool_calls.payloads import Found, Offer
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

_KEY_OPENER, _KEY_END = "<arg_key>", "</arg_key>"
_VALUE_OPENER, _VALUE_END = "<arg_value>", "</arg_value>"
_BY_EQUALS = "<parameter="
_OPENERS = (*PARAMETERS, _KEY_OPENER)
_BEHIND_CALLS = (*CLOSERS, *ELEMENTS, *CALL_OPENERS)
_TAG_END = late_pattern(">")
_KEY_ENDS = late_pattern(f"{_KEY_END}|{_VALUE_OPENER}")
_NAME_TAGS = ("<name>", "<tool_name>", "<function_name>", "<function>", "<tool>")
_ARGUMENT_TAGS = ("<arguments>", "<parameters>", "<args>", "<params>", "<input>", "<tool_input>")
_IN_OPENER = late_pattern(r"[\w.\-:/\"' =]")
_CHILD_END = late_pattern("</")


def end_of(opener: str) -> str:
    """Return the closing tag of an element: </function> for <function=."""
    return f"</{opener[1:].replace('=', ' ').rstrip('>').split()[0]}>"


_CALL_ENDS = {opener: end_of(opener) for opener in (*ELEMENTS, "<tool_call>")}
"""Openers of calls whose arguments are in tags, and their closers."""


def _any_of(literals: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(filter(None, literals), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE | re.ASCII)


class _Tags:
    """The tags around a value: its closer, the openers of the next argument, the end of the call, and openers of other
    calls, which are then part of the value."""

    def __init__(self, closer: str, openers: Collection[str], end: str) -> None:
        self.closer = closer
        self.openers = openers
        self.end = end
        self.calls: dict[str, str] = {**_CALL_ENDS, f"<{end[2:]}": end} if end else _CALL_ENDS
        stops = (closer, end, *self.calls, *(opener for opener in openers if opener in _OPENERS))
        self.pattern = _any_of(stops)
        self.longest = max(map(len, stops))

    def bounds(self) -> tuple[re.Pattern[str], int]:
        """Return a pattern of what begins or ends a call in the value, and its maximum length."""
        literals = {*self.calls, *self.calls.values()}
        return _any_of(literals), max(map(len, literals))


class TaggedReader:
    """Parses the arguments of a call from `source`."""

    def __init__(self, source: Source, offer: Offer) -> None:
        self._source = source
        self._offer = offer

    def begins_parameter(self) -> Reading[bool]:
        """Return whether an argument begins here; the position is kept."""
        return (yield from self._stands_here(_OPENERS))

    def parameters(self, name: str, end: str) -> Reading[Found]:
        """Read <parameter=key>value</parameter>…, or GLM's <arg_key>key</arg_key><arg_value>value</arg_value>…

        `end` is the tag that ends the call. A call that was truncated, or whose last value is unterminated, is returned
        as written.
        """
        source = self._source
        start = source.place
        values: dict[str, Json] = {}
        while True:
            yield from source.blank()
            opener = yield from source.accept(*_OPENERS)
            if not opener:
                break
            key, tag = yield from self._key(opener)
            closer = _VALUE_END if opener == _KEY_OPENER else PARAMETERS[opener]
            text, ended = yield from self._value(_Tags(closer, (opener,), end), self._left(name, {*values, key}))
            if not ended or not key:
                return Found(name, source.since(start).rstrip(), closed=False)
            text = _unwrapped(text, by_equals=opener == _BY_EQUALS)
            values[key] = self._typed(name, key, text, is_json='string="false"' in tag)
        if source.was_cut and not (yield from source.peek()):
            return Found(name, source.since(start).rstrip(), closed=False)
        return Found(name, encode_json(values).decode(), tagged=source.since(start))

    def children(self, name: str, end: str) -> Reading[Found | None]:
        """Read <key>value</key>… for the parameters of an offered tool, up to `end`."""
        source = self._source
        start = source.place
        keys = {f"<{key.lower()}>": key for key in self._offer.keys(name)}
        values: dict[str, Json] = {}
        while True:
            yield from source.blank()
            opener = yield from source.accept(*keys)
            if not opener:
                break
            text, ended = yield from self._value(_Tags(f"</{opener[1:]}", keys, end), ())
            if not ended:
                return Found(name, source.since(start).rstrip(), closed=False)
            values[keys[opener]] = self._typed(name, keys[opener], _unwrapped(text, by_equals=False))
        closed = yield from source.accept(end)
        if not values and (not closed or self._offer.required(name)):
            return None
        if not closed and source.was_cut:
            return Found(name, source.since(start).rstrip(), closed=False)
        return Found(name, encode_json(values).decode(), tagged=source.since(start))

    def named_by_children(self) -> Reading[Found | None]:
        """Read <name>read_file</name><arguments>…</arguments>, the arguments in JSON or in tags."""
        source = self._source
        if not (yield from source.accept(*_NAME_TAGS)):
            return None
        written, _ = yield from source.until(_CHILD_END, 2)
        yield from source.until(_TAG_END, 1)
        name = tidied(written)
        if not name.replace("-", "_").replace(".", "_").isidentifier():
            return None
        yield from source.blank()
        wrapper = yield from source.accept(*_ARGUMENT_TAGS)
        end = f"</{wrapper[1:]}" if wrapper else ""
        start = source.place
        if (yield from source.blank()) != "{":
            return (yield from self.children(name, end or "</tool_call>"))
        closed = yield from source.value()
        found = Found(name, source.since(start).strip(), closed)
        yield from source.blank()
        yield from source.accept(end)
        return found

    def _key(self, opener: str) -> Reading[tuple[str, str]]:
        """Read the name of the argument whose tag begins with `opener`, and the content of the tag."""
        source = self._source
        if opener == _KEY_OPENER:
            key, end = yield from source.until(_KEY_ENDS, len(_VALUE_OPENER))
            if end == _KEY_END:
                yield from source.blank()
                yield from source.accept(_VALUE_OPENER)
            return key.strip(), ""
        tag, _ = yield from source.until(_TAG_END, 1)
        words = tag.split()
        return (tidied(words[0]) if words else ""), tag

    def _value(self, tags: _Tags, left: Collection[str]) -> Reading[tuple[str, bool]]:
        """Read the text up to its closing tag; return it and whether it was terminated.
        `left` are the parameters not given yet. The text may contain such tags itself: its closing tag counts only if
        the next argument, the end of the call or of everything follows; and a call in it, such as an example, is
        skipped as a whole. A value without a closing tag ends at a line that begins with an argument of `left`, or with
        the tag that ends the call."""
        source = self._source
        start = source.place
        while True:
            _, stop = yield from source.until(tags.pattern, tags.longest)
            if not stop:
                return source.since(start), False
            behind = source.place
            before = behind - len(stop)
            if stop.lower() in tags.calls:
                if not (yield from self._over_call(stop.lower(), tags)):
                    return source.since(start), False
                continue
            if stop.lower() == tags.closer:
                ends = yield from self._is_followed_by_tag(tags)
            else:
                text = source.since(start)[: -len(stop)]
                begins_line = "\n" not in text or text.rstrip(" \t").endswith("\n")
                ends = begins_line and (yield from self._ends_without_tag(stop.lower(), tags, left))
            is_closer = stop.lower() == tags.closer
            source.go(behind if is_closer or not ends else before)
            if ends:
                return source.since(start)[: before - start], True

    def _over_call(self, opener: str, tags: _Tags) -> Reading[bool]:
        """Skip a call opened by `opener`, just read, with nested ones; nothing if it opens none.
        Return whether it ended."""
        source = self._source
        pattern, longest = tags.bounds()
        ends: list[str] = []
        while True:
            place = source.place
            if opener in tags.calls and (yield from self._begins_call(opener, tags)):
                ends.append(tags.calls[opener])
            elif ends and opener == ends[-1]:
                ends.pop()
            source.go(place)
            if not ends:
                return True
            bound: str = (yield from source.until(pattern, longest))[1]
            if not bound:
                return False
            opener = bound.lower()

    def _begins_call(self, opener: str, tags: _Tags) -> Reading[bool]:
        """Return whether `opener`, just read, begins a call rather than a sentence about calls."""
        source = self._source
        yield from source.word(_IN_OPENER)
        yield from source.accept(">")
        yield from source.blank()
        return bool((yield from source.accept("{", *_OPENERS, *tags.openers, *tags.calls, tags.calls[opener])))

    def _is_followed_by_tag(self, tags: _Tags) -> Reading[bool]:
        """Return whether what follows a closing tag confirms that it closes the value: the next argument under any name
        (else a file might be written with markup in it), the end of the call, another call, or nothing."""
        if not (yield from self._source.blank()):
            return True
        return (yield from self._stands_here((*tags.openers, tags.end, *_BEHIND_CALLS)))

    def _ends_without_tag(self, stop: str, tags: _Tags, left: Collection[str]) -> Reading[bool]:
        """Return whether `stop`, just read, ends a value without closing tag."""
        source = self._source
        if stop == tags.end:
            yield from source.blank()
            return not (yield from source.peek()) or (yield from self._stands_here(_BEHIND_CALLS))
        key, _ = yield from self._key(stop)
        return key in left

    def _left(self, name: str, given: Collection[str]) -> set[str]:
        """Return the parameters not given yet."""
        return {key for key in self._offer.parameters(name) if key not in given}

    def _stands_here(self, literals: Collection[str]) -> Reading[bool]:
        place = self._source.place
        found = yield from self._source.accept(*literals)
        self._source.go(place)
        return bool(found)

    def _typed(self, name: str, key: str, text: str, *, is_json: bool = False) -> Json:
        """Convert the value to its parameter's type: strings stay text, anything else is parsed as JSON if possible."""
        kind = self._offer.keys(name).get(key, {}).get("type", "" if is_json else "string")
        if kind == "string":
            return text
        value = repair_json(text.strip())
        return msgspec.json.decode(value) if value is not None else text.strip()


def _unwrapped(text: str, *, by_equals: bool) -> str:
    """Strip the line breaks around a value: always in <parameter=…>, elsewhere only if both are present, as a text may
    end with one."""
    begins, ends = text.startswith(("\n", "\r\n")), text.endswith("\n")
    if by_equals or (begins and ends and len(text) > 1):
        return text.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    return text
