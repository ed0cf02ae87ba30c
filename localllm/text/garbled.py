"""Whether a text came out garbled: what a PDF gives whose fonts do not say which characters they draw."""

import re
import unicodedata

_CID = re.compile(r"\(cid:\d+\)|/[gGcC](?:id)?\d{1,5}\b")
_SAMPLE = 20_000
_MOST = 0.1
"""Share of characters nobody writes, from which on a text is garbled."""
_NOT_WRITTEN = frozenset({"Co", "Cn", "Cc", "Cs"})
"""Categories of characters: of private use, unassigned, controls, surrogates."""


def is_garbled(text: str) -> bool:
    """Whether much of the text is no writing in any language."""
    sample = text[:_SAMPLE]
    glyphs = sum(len(found) for found in _CID.findall(sample))
    strange = sum(
        character == "\ufffd" or (unicodedata.category(character) in _NOT_WRITTEN and character not in "\t\n\r\f")
        for character in sample
    )
    written = sum(not character.isspace() for character in sample)
    return written > 0 and (glyphs + strange) / written >= _MOST
