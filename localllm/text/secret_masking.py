"""Mask keys, tokens and passwords before a text is stored where others may see it."""

import re
from collections.abc import Iterator

MASK = "***"

_KNOWN = (
    r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
    r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)"
)
"""Patterns of keys as documented by their services."""

_MARKS = (
    *("sk-", "sk_", "pk_", "pk-", "rk_", "rk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("xox", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ", "-----BEGIN "),
)
"""Prefixes of what `_KNOWN` matches."""

_IN_ADDRESS = r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"

_CALLED = (
    r"(?:(?<![a-z])(?:pass(?:word|wd|phrase)|secret|token|credential|auth(?:orization)?|api[ _-]?key|access[ _-]?key"
    r"|private[ _-]?key|bearer)s?|パスワード|秘密鍵|トークン|APIキー|アクセスキー)"
)

_NAMES = ("pass", "secret", "token", "credential", "auth", "key", "bearer", "パスワード", "秘密鍵", "トークン", "キー")
"""Substrings of what `_CALLED` matches."""

_VALUE = r"[\"'「]?(?P<value>[^\s\"'「」,;]{6,})"

_PLACE = r"[$<{%@/.(]|[A-Z][A-Z0-9]*_[A-Z0-9_]+$|[\w/-]+\.[a-z]{1,4}\b|\w+://|v?\d+(?:\.\d+)+$"
"""Matches the place of a secret, as opposed to the secret itself."""

_PRODUCT = r"[A-Za-z]+[-.]?\d{1,4}(?:\.\d+)*"

_NAMED = rf"{_CALLED}[\"']?(?:\s*[:=＝：]\s*(?:bearer\s+)?|\s*(?:is|は)\s+|\s*は|\s+){_VALUE}"


def masked(text: str) -> str:
    """Mask what looks like a secret in `text`: known kinds of keys, credentials in addresses, and values named as
    password, token or key that are assigned or no word. Secrets of unknown form are missed."""
    return _replaced(text, secret_spans(text))


def masked_keys(text: str) -> str:
    """Mask known kinds of keys and credentials in addresses, not values named as secrets.
    Fast if there are none, for text written at each request."""
    spans = [match.span() for mark in _MARKS if mark in text for match in _keys_with(mark, text)]
    if "://" in text and "@" in text:
        spans += [match.span() for match in re.finditer(_IN_ADDRESS, text)]
    return _replaced(text, _merged(spans)) if spans else text


def _keys_with(mark: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the known kinds of keys that begin with `mark`. Matching `_KNOWN` against a whole text is slow."""
    known = re.compile(_KNOWN, re.DOTALL)
    at = text.find(mark)
    while at >= 0:
        found = known.match(text, at)
        if found:
            yield found
        at = text.find(mark, found.end() if found else at + 1)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the secrets that `masked` replaces, in order and disjoint."""
    found: list[tuple[int, int]] = []  # most texts contain none, which is checked first
    if any(mark in text for mark in _MARKS):
        found += [match.span() for match in re.finditer(_KNOWN, text, flags=re.DOTALL)]
    if "://" in text:
        found += [match.span() for match in re.finditer(_IN_ADDRESS, text)]
    folded = text.casefold()
    if any(word in folded for word in _NAMES):
        found += [match.span("value") for match in re.finditer(_NAMED, text, flags=re.IGNORECASE) if _is_given(match)]
    return _merged(found)


def _merged(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(found):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _replaced(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    end = 0
    for start, stop in spans:
        pieces += text[end:start], MASK
        end = stop
    return "".join([*pieces, text[end:]])


def has_secret(text: str) -> bool:
    """Return whether the text contains a known kind of key, a password in an address, or a named secret.
    Named values need letters and digits and must be no file or variable name. Stricter than `masked`, for uses
    where a false positive is worse."""
    if re.search(_KNOWN, text, flags=re.DOTALL) or re.search(_IN_ADDRESS, text):
        return True
    return any(_is_secret(found["value"]) for found in re.finditer(_NAMED, text, flags=re.IGNORECASE))


def _is_secret(value: str) -> bool:
    kinds = any(one.isdigit() for one in value) and any(one.isascii() and one.isalpha() for one in value)
    return kinds and value.isascii() and not re.match(_PLACE, value)


def _is_given(found: re.Match[str]) -> bool:
    """Return whether the value after a secret's name is one, not just another word or a product name.
    An example of the latter is `reset password windows11`."""
    value = found["value"].rstrip("`.!?)。、）")
    before = found[0][: found.start("value") - found.start()].rstrip("\"'「")
    if found["value"] == MASK or (value.isdigit() and found[0].lower().startswith("token")):  # e.g. tokens: 128000
        return False
    if before.rstrip()[-1:] in ":=＝：":
        return True
    is_said = before.rstrip().endswith(("is", "は")) or "bearer" in before.lower()
    return any(character.isdigit() for character in value) and (is_said or not re.fullmatch(_PRODUCT, value))
