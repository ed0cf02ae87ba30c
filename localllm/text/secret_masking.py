"""Keys, tokens and passwords in a text, made unreadable before it is kept where others may see it."""

import re

MASK = "***"

_KNOWN = (
    r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)"
)
"""What services give out, by the forms they document."""

_IN_ADDRESS = r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"

_CALLED = (
    r"(?:(?<![a-z])(?:pass(?:word|wd|phrase)|secret|token|credential|auth(?:orization)?|api[ _-]?key|access[ _-]?key"
    r"|private[ _-]?key|bearer)s?|パスワード|秘密鍵|トークン|APIキー|アクセスキー)"
)

_VALUE = r"[\"'「]?(?P<value>[^\s\"'「」,;]{6,})"

_PLACE = r"[$<{%@/.(]|[A-Z][A-Z0-9]*_[A-Z0-9_]+$|[\w/-]+\.[a-z]{1,4}\b|\w+://|v?\d+(?:\.\d+)+$"
"""Where a secret is kept, in the place of the secret."""

_NAMED = rf"{_CALLED}[\"']?(?:\s*[:=＝：]\s*(?:bearer\s+)?|\s*(?:is|は)\s+|\s*は|\s+){_VALUE}"


def masked(text: str) -> str:
    """`text` with what looks like a secret replaced: what has the form of a known kind of key, the user and password of
    an address, and what is called a password, token or key and is set, or is no word. A secret that looks like nothing
    is not found."""
    text = re.sub(_KNOWN, MASK, text, flags=re.DOTALL)
    text = re.sub(_IN_ADDRESS, MASK, text)
    return re.sub(_NAMED, _without_value, text, flags=re.IGNORECASE)


def has_secret(text: str) -> bool:
    """Whether a key of a known kind is in the text, a password in an address, or what is called one and looks like one:
    letters and digits, no name of a file or a variable. Where a wrong yes is worse than in `masked`."""
    if re.search(_KNOWN, text, flags=re.DOTALL) or re.search(_IN_ADDRESS, text):
        return True
    return any(_is_secret(found["value"]) for found in re.finditer(_NAMED, text, flags=re.IGNORECASE))


def _is_secret(value: str) -> bool:
    kinds = any(one.isdigit() for one in value) and any(one.isascii() and one.isalpha() for one in value)
    return kinds and value.isascii() and not re.match(_PLACE, value)


def _without_value(found: re.Match[str]) -> str:
    """What names a secret without it; as it was where what follows is only another word."""
    value = found["value"]
    before = found[0][: found.start("value") - found.start()]
    is_set = before.rstrip(" \"'「")[-1:] in ":=＝："
    is_word = value.isalpha() or not any(character.isdigit() for character in value)
    return found[0] if (is_word and not is_set) or value == MASK else before + MASK
