"""Whether JSON in an answer is a call, told as early as can be."""

import re

from localllm.llm.tool_calling.json_repair import COLONS
from localllm.llm.tool_calling.text_tool_calls.payloads import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    Offer,
)
from localllm.llm.tool_calling.text_tool_calls.source import Reading, Source

_KEY = re.compile(r"[\w.\-$]")
_DEEPEST_LIST = 4
"""Lists in lists that may hold calls."""
_COMMAS = (",", "，", "、")
_KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *LIST_KEYS, *CALL_KEYS, *OTHER_KEYS))


class CallProbe:
    """Looks into the JSON at a source's place. Once a value there has reached to the end of the text without ending,
    nothing in it is looked at again: a text of nothing but opening braces would be gone through again and again."""

    def __init__(self, source: Source, offer: Offer) -> None:
        self._source = source
        self._offer = offer
        self._ran_out = False

    def may_be_call(self) -> Reading[bool]:
        """Whether the JSON that begins here calls an offered tool. It is read only as far as that takes, so that JSON
        which is part of the answer is not held back."""
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
            if (yield from source.blank()) == "{":  # doubled, as templates write it
                source.skip(1)
            verdict = yield from self._member_tells()
            self._ran_out = source.ended and not source.text
            if verdict is not None:
                return verdict
        return False

    def _member_tells(self) -> Reading[bool | None]:
        """Whether the members of the object that begins here tell a call; None: what they hold, at this place, will."""
        source = self._source
        while True:
            yield from source.blank()
            key = yield from self._key()
            if (yield from source.blank()) not in COLONS:
                return False
            source.skip(1)
            if key not in _KEYS and key not in self._offer.names:
                return False
            char = yield from source.blank()
            if char in ("{", "[") and key in (*CALL_KEYS, *LIST_KEYS):
                return None
            if key in NAME_KEYS:
                return self._offer.names.resolve((yield from self._text_of_string())) is not None
            if key in self._offer.names:
                return char == "{"
            if not (yield from self._over_value()) or (yield from source.blank()) not in _COMMAS:
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
