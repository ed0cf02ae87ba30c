"""How many tokens a text is, before a server has counted it."""

BYTES_PER_TOKEN = 3.6
"""Of Latin text and code, over the tokenizers of the common local families."""

TOKENS_PER_WIDE_CHARACTER = 1.0
"""Of Japanese, Chinese and Korean characters, over the same tokenizers."""

_FIRST_WIDE = "\u2e80"


def estimate_tokens(text: str) -> int:
    """An estimate of the tokens in `text`, never 0 for a text that is not empty."""
    if text.isascii():
        return -(-len(text) * 10 // int(BYTES_PER_TOKEN * 10))
    wide = sum(character >= _FIRST_WIDE for character in text)
    narrow_bytes = len(text.encode("utf-8", "surrogatepass")) - sum(
        len(character.encode("utf-8", "surrogatepass")) for character in text if character >= _FIRST_WIDE
    )
    return round(wide * TOKENS_PER_WIDE_CHARACTER + narrow_bytes / BYTES_PER_TOKEN) or 1
