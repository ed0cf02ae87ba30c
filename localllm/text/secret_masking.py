"""Keys, tokens and passwords in a text, made unreadable before it is kept where others may see it."""

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
"""What services give out, by the forms they document."""

_MARKS = (
    *("sk-", "sk_", "pk_", "pk-", "rk_", "rk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("xox", "AKIA", "ASIA", "AIza", "hf_", "npm_", "pypi-", "eyJ", "-----BEGIN "),
)
"""What `_KNOWN` finds begins with one of them."""

_IN_ADDRESS = r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"

_CALLED = (
    r"(?:(?<![a-z])(?:pass(?:word|wd|phrase)|secret|token|credential|auth(?:orization)?|api[ _-]?key|access[ _-]?key"
    r"|private[ _-]?key|bearer)s?|パスワード|秘密鍵|トークン|APIキー|アクセスキー)"
)

_NAMES = ("pass", "secret", "token", "credential", "auth", "key", "bearer", "パスワード", "秘密鍵", "トークン", "キー")
"""What `_CALLED` finds holds one of them."""

_VALUE = r"[\"'「]?(?P<value>[^\s\"'「」,;]{6,})"

_PLACE = r"[$<{%@/.(]|[A-Z][A-Z0-9]*_[A-Z0-9_]+$|[\w/-]+\.[a-z]{1,4}\b|\w+://|v?\d+(?:\.\d+)+$"
"""Where a secret is kept, in the place of the secret."""

_PRODUCT = r"[A-Za-z]+[-.]?\d{1,4}(?:\.\d+)*"

_NAMED = rf"{_CALLED}[\"']?(?:\s*[:=＝：]\s*(?:bearer\s+)?|\s*(?:is|は)\s+|\s*は|\s+){_VALUE}"


def masked(text: str) -> str:
    """`text` with what looks like a secret replaced: what has the form of a known kind of key, the user and password of
    an address, and what is called a password, token or key and is set, or is no word. A secret that looks like nothing
    is not found."""
    return _replaced(text, secret_spans(text))


def masked_keys(text: str) -> str:
    """`text` with keys of a known kind replaced, and the user and password of an address; not what is only called a
    secret. Fast where there are none: for what is written at each request."""
    spans = [match.span() for mark in _MARKS if mark in text for match in _keys_with(mark, text)]
    if "://" in text and "@" in text:
        spans += [match.span() for match in re.finditer(_IN_ADDRESS, text)]
    return _replaced(text, _merged(spans)) if spans else text


def _keys_with(mark: str, text: str) -> Iterator[re.Match[str]]:
    """The keys of a known kind that begin with `mark`. Looked for just there: `_KNOWN` takes long over a whole text."""
    known = re.compile(_KNOWN, re.DOTALL)
    at = text.find(mark)
    while at >= 0:
        found = known.match(text, at)
        if found:
            yield found
        at = text.find(mark, found.end() if found else at + 1)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where in `text` the secrets are that `masked` replaces: in their order, none within another."""
    found: list[tuple[int, int]] = []  # most texts have nothing of the kind, which is quickly seen
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
    """Whether a key of a known kind is in the text, a password in an address, or what is called one and looks like one:
    letters and digits, no name of a file or a variable. Where a wrong yes is worse than in `masked`."""
    if re.search(_KNOWN, text, flags=re.DOTALL) or re.search(_IN_ADDRESS, text):
        return True
    return any(_is_secret(found["value"]) for found in re.finditer(_NAMED, text, flags=re.IGNORECASE))


def _is_secret(value: str) -> bool:
    kinds = any(one.isdigit() for one in value) and any(one.isascii() and one.isalpha() for one in value)
    return kinds and value.isascii() and not re.match(_PLACE, value)


def _is_given(found: re.Match[str]) -> bool:
    """Whether what follows the name of a secret is one: not where it is only another word, or the name of a product
    (`reset password windows11`)."""
    value = found["value"].rstrip("`.!?)。、）")
    before = found[0][: found.start("value") - found.start()].rstrip("\"'「")
    if found["value"] == MASK or (value.isdigit() and found[0].lower().startswith("token")):  # tokens: 128000
        return False
    if before.rstrip()[-1:] in ":=＝：":
        return True
    is_said = before.rstrip().endswith(("is", "は")) or "bearer" in before.lower()
    return any(character.isdigit() for character in value) and (is_said or not re.fullmatch(_PRODUCT, value))
