"""Mask personal data before a text leaves this machine or is logged.

Masked are e-mail addresses, private network addresses, card numbers (with Luhn's check digit), telephone numbers,
Japan's individual numbers (with their check digit) and keys and passwords. Similar text is kept: public addresses,
versions, dates, ISBNs, numbers with a wrong check digit. Each pattern begins at the border of a run and is unambiguous,
so that the time is linear in the length of the text.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from localllm.base.lazy_patterns import late_pattern
from localllm.text.secret_masking import secret_spans

MARKS = {
    "secret": "[SECRET]",
    "email": "[EMAIL]",
    "private_ip": "[IP]",
    "card": "[CREDIT_CARD]",
    "my_number": "[MY_NUMBER]",
    "phone": "[PHONE]",
}
"""The mark for each kind."""


class Masked(NamedTuple):
    """A masked text, and the kinds of the masked data in order, one per place."""

    text: str
    kinds: tuple[str, ...]


class _Place(NamedTuple):
    start: int
    end: int
    kind: str


def mask(text: str) -> Masked:
    """Replace each piece of personal data in `text` by a mark. Existing marks are kept."""
    pieces: list[str] = []
    kinds: list[str] = []
    end = 0
    for place in _places(text):
        pieces += text[end : place.start], MARKS[place.kind]
        kinds.append(place.kind)
        end = place.end
    return Masked("".join([*pieces, text[end:]]), tuple(kinds))


def masked_text(text: str) -> str:
    """Return the masked text, for logs."""
    return mask(text).text


def without_marks(text: str) -> str:
    """Remove the marks from a masked text."""
    for mark in MARKS.values():
        text = text.replace(mark, " ")
    return text


def _places(text: str) -> list[_Place]:
    """Return the places to mask, in order. Of overlapping ones, the kind listed first in MARKS wins."""
    plain = _plain(text)
    taken = [_Place(start, end, "secret") for start, end in secret_spans(text)]
    for kind, found in _FINDERS.items():
        taken = _added(taken, [_Place(start, end, kind) for start, end in found(plain)])
    return taken


def _added(taken: list[_Place], found: list[_Place]) -> list[_Place]:
    """Merge two ordered lists, without those of `found` that overlap one of `taken`."""
    kept: list[_Place] = []
    rest = iter([*taken, _Place(_FAR, _FAR, "")])
    following = next(rest)
    for place in found:
        while following.end <= place.start:
            following = next(rest)
        if place.end <= following.start:
            kept.append(place)
    return sorted([*taken, *kept])


_FAR = 1 << 62

_WIDE: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **{ord(dash): "-" for dash in "‐‑‒–—―−－ｰ"},
    0x3000: " ",
}
_LONG_VOWEL = late_pattern(r"(?<=\d)ー(?=\d)")


def _plain(text: str) -> str:
    """Convert to half-width characters, one kind of hyphen and ASCII digits; the length is preserved."""
    return text if text.isascii() else _LONG_VOWEL.sub("-", text.translate(_WIDE))


def _digits(text: str) -> str:
    return "".join(character for character in text if character in "0123456789")


# --- e-mail ---

_EMAIL = late_pattern(
    r"(?<![A-Za-z0-9._%+-])(?<![A-Za-z0-9]')[A-Za-z0-9._%+-]++(?>(?:'[A-Za-z0-9._%+-]++)*)"
    r"@(?P<domain>(?:[A-Za-z0-9-]++\.)+[A-Za-z]{2,24})(?![A-Za-z0-9])(?P<path>:)?"
)
_NO_DOMAIN = late_pattern(r"v?\d+\.\d.*|\d+x\.(?:png|jpe?g|gif|webp|svg|avif)", re.IGNORECASE)
"""Matches a package version (`vue@3.0.0-rc.beta`), or an image with a density (`icon@2x.png`)."""


def _emails(text: str) -> Iterator[tuple[int, int]]:
    if "@" not in text:
        return
    for found in _EMAIL.finditer(text):
        is_repository = found[0].startswith("git@") and found["path"]
        if not is_repository and not _NO_DOMAIN.fullmatch(found["domain"]):
            yield found.start(), found.end("domain")


# --- private addresses ---

_IPV4 = late_pattern(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![A-Za-z0-9_]|\.\d)(?P<net>/\d{1,2})?", re.ASCII)
_IPV6 = late_pattern(r"(?<![\w:.])f[cde][0-9a-f]{2}:[0-9a-f:]++(?:%\w+)?(?P<net>/\d{1,3})?", re.IGNORECASE | re.ASCII)

_PRIVATE_NETS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
_PRIVATE_NETS_6 = ("fc00::/7", "fd00::/8", "fe80::/10")
"""The private ranges (RFC 1918, 3927, 6598, 4193, 4291): the ranges themselves are public knowledge and kept."""

_VERSION_BEFORE = late_pattern(
    r"(?:\bversions?|\bver\.?|\bv\.?|\breleases?|\bRFC|\bsections?|\bchapter|\bclause|\bfigure|§|バージョン|リリース|第)"
    r"[\s:=#]{0,3}(?:number\s|is\s|was\s|は|が)?\s?$|(?:[=<>~!]=|[~^])\s?$",
    re.IGNORECASE,
)
_VERSION_AFTER = late_pattern(
    r"\s?(?:節|項|章|条|版|リリース|[にへ]アップ[デグ]|release\b|\.(?:tar|zip|whl|exe|msi|deb|rpm|dmg|jar)\b)"
)
_CONTEXT = 24  # characters before an address in which a word may mark it as a version


def _private_addresses(text: str) -> Iterator[tuple[int, int]]:
    found = [*_IPV4.finditer(text), *_IPV6.finditer(text)]
    for match in sorted(found, key=lambda match: match.start()):
        if _is_private(match[0]) and not (":" not in match[0] and _is_version(text, match)):
            yield match.span()


def _is_private(written: str) -> bool:
    from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network

    if written in _PRIVATE_NETS or written.lower() in _PRIVATE_NETS_6:
        return False
    address = written.partition("/")[0].partition("%")[0]
    try:
        if ":" not in address:
            return any(IPv4Address(address) in IPv4Network(net) for net in _PRIVATE_NETS)
        whole = address if address.endswith("::") else address.rstrip(":")  # a colon of the sentence may follow
        return any(IPv6Address(whole) in IPv6Network(net) for net in _PRIVATE_NETS_6)
    except AddressValueError:
        return False


def _is_version(text: str, found: re.Match[str]) -> bool:
    """Return whether four numbers are a version or section number, judging by their context."""
    before = text[max(0, found.start() - _CONTEXT) : found.start()]
    return bool(_VERSION_BEFORE.search(before) or _VERSION_AFTER.match(text, found.end()))


# --- cards and Japan's individual numbers ---

_LONG_NUMBER = late_pattern(
    r"(?<![A-Za-z0-9_.,-])(?:\d{4}(?P<a>[ -])\d{4}(?P=a)\d{4}(?:(?P=a)\d{1,4})?(?:(?P=a)\d{1,3})?"
    r"|\d{4}(?P<b>[ -])\d{6}(?P=b)\d{4,5}|\d{12}|\d{14,19})(?![A-Za-z0-9_]|[.,-]\d)",
    re.ASCII,
)
_CARD = late_pattern(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}"
)
"""Matches card numbers of Visa, Mastercard, American Express, JCB, Diners, Discover and UnionPay."""

_MOMENT = late_pattern(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d")
_NAMED_MY_NUMBER = late_pattern(r"(?:マイナンバー|個人番号|my ?number)\D{0,8}$", re.IGNORECASE)


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for found in _LONG_NUMBER.finditer(text):
        digits = _digits(found[0])
        if _CARD.fullmatch(digits) and _has_luhn_digit(digits):
            yield found.span()


def _has_luhn_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of ISO/IEC 7812-1, appendix B."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _my_numbers(text: str) -> Iterator[tuple[int, int]]:
    for found in _LONG_NUMBER.finditer(text):
        digits = _digits(found[0])
        if len(digits) != 12 or not _has_my_number_digit(digits):
            continue
        is_named = _NAMED_MY_NUMBER.search(text[max(0, found.start() - _CONTEXT) : found.start()])
        if is_named or not _MOMENT.fullmatch(digits):  # 202611240930 is also a time
            yield found.span()


def _has_my_number_digit(digits: str) -> bool:
    """Return whether the twelfth digit is the check digit of the ordinance 総務省令 85 of 2014, article 5."""
    weights = (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)
    rest = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False)) % 11
    return int(digits[-1]) == (0 if rest <= 1 else 11 - rest)


# --- telephone numbers ---

_INTERNATIONAL = late_pattern(
    r"(?<![\w+.])(?!\+(?:19|20)\d\d-\d\d-\d\d(?!\d))"
    r"(?:\+|(?<!\d)00(?=81[-. (]?))[1-9](?:[-. ()]{0,2}\d){6,14}(?![A-Za-z0-9_]|[.,:]\d)",
    re.ASCII,
)
_JAPANESE = late_pattern(
    r"(?<![A-Za-z0-9_.,/+-])\(?0\d{1,4}(?:(?P<sep>[-. ])|\) ?|\()\d{1,4}(?:(?(sep)(?P=sep)|[-. )]))\d{3,4}"
    r"(?![A-Za-z0-9_]|[.,:-]\d)",
    re.ASCII,
)
_BRITISH_MOBILE = late_pattern(r"(?<![\w.,/+-])07\d{3} \d{6}(?![A-Za-z0-9_]|[.,:-]\d)", re.ASCII)
_PLAIN = late_pattern(r"(?<![A-Za-z0-9_.,/+¥$€£#=-])0[1-9]\d{8,9}(?![A-Za-z0-9_]|[.,:/-]\d)", re.ASCII)
_AMERICAN = late_pattern(
    r"(?<![A-Za-z0-9_.,/+-])(?:1[-. ])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}(?![A-Za-z0-9_]|[.,:-]\d)",
    re.ASCII,
)
_NAMED_PHONE = late_pattern(
    r"(?:(?<![A-Za-z])(?:tel(?:ephone)?|phone|fax|mobile|cell)(?: number| no\.?)?|電話(?:番号)?|携帯(?:番号)?"
    r"|ファックス)(?:\s?[:：#.]\s?| is | at |は|\s)(?P<number>\d(?:[- ]?\d){8,11})(?![A-Za-z0-9_]|[.,:-]\d)",
    re.IGNORECASE | re.ASCII,
)
_MANY_DIGITS = late_pattern(r"\d(?:[-. ()]{0,2}\d){6}", re.ASCII)
"""Matches what every telephone number contains; few log lines do."""

_ISBN_BEFORE = late_pattern(r"ISBN(?:-1[03])?\D{0,4}$", re.IGNORECASE)
_ALL_DIGITS = "0123456789"
_LEAST_UNBROKEN = 10  # digits after a plus: +12345678 is more likely a difference


def _phones(text: str) -> Iterator[tuple[int, int]]:
    if not _MANY_DIGITS.search(text):
        return
    found = [match.span() for match in _INTERNATIONAL.finditer(text) if _is_international(match[0])]
    found += [match.span() for match in _JAPANESE.finditer(text) if _is_japanese(match[0])]
    found += [match.span() for match in _PLAIN.finditer(text) if _is_plain(text, match)]
    found += [match.span("number") for match in _NAMED_PHONE.finditer(text)]
    for pattern in (_AMERICAN, _BRITISH_MOBILE):
        found += [match.span() for match in pattern.finditer(text)]
    end = 0
    for start, stop in sorted(found):
        if start >= end:
            yield start, stop
            end = stop


def _is_international(written: str) -> bool:
    digits, separators = _digits(written), [one for one in written[1:] if not one.isdigit()]
    if separators == ["."]:  # +139.6917321 is a coordinate
        return False
    return 8 <= len(digits) <= 15 if separators else len(digits) >= _LEAST_UNBROKEN


def _is_japanese(written: str) -> bool:
    """Return whether digit groups that begin with 0 have the length of a number within Japan or London."""
    digits = _digits(written)
    first = re.split(r"\D+", written.strip("("), maxsplit=1)[0]
    is_mobile = len(digits) == 11 and (re.match(r"0[25-9]0|0800", digits) is not None or first == "020")
    if len(digits) == 10 and first in ("0120", "0570", "0800", "0990"):
        return True
    last = re.split(r"\D+", written.strip())[-1]
    return len(last) == 4 and digits[1] != "0" and (is_mobile or (len(digits) == 10 and digits[1] in "123456789"))


def _is_plain(text: str, found: re.Match[str]) -> bool:
    """Return whether a run of ten or eleven digits is a telephone number, not an ISBN or all digits."""
    digits = found[0]
    if digits == _ALL_DIGITS or _ISBN_BEFORE.search(text[max(0, found.start() - _CONTEXT) : found.start()]):
        return False
    if len(digits) == 11:
        return re.match(r"0[25-9]0", digits) is not None
    is_isbn = sum(int(digit) * (10 - place) for place, digit in enumerate(digits)) % 11 == 0
    exchange = digits[2] if digits[1] in "346" else "2"
    return not (is_isbn and exchange in "01")  # exchanges of Tokyo and Osaka never begin with 0 or 1


_Finder = Callable[[str], Iterator[tuple[int, int]]]

_FINDERS: dict[str, _Finder] = {
    "email": _emails,
    "private_ip": _private_addresses,
    "card": _cards,
    "my_number": _my_numbers,
    "phone": _phones,
}
