"""Extract what a request names: quoted texts, paths, identifiers."""

import re

from localllm.lookup import vocabulary
from localllm.lookup.terms import is_identifier

NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*"
"""A pattern for an identifier, optionally dotted."""

_QUOTED = re.compile(
    r"""`([^`]+)` | “([^”]+)” | 「([^」]+)」 | 『([^』]+)』 | "([^"]+)"
    | (?<!\w)'(.+)'(?=[\s.,;:?!。、？！)]|$|\s*[ぁ-んァ-ヶ一-龠])""",
    re.VERBOSE,
)
_SUFFIX = (
    r"\.(?:pyi?|[cm]?[jt]sx?|[ch](?:pp|c|xx|s)?|go|rs|rb|java|kt|php|swift|sh|bash|lua|sql|md|rst|txt|toml|ya?ml|json"
    r"|ini|cfg|conf|html?|s?css|xml|lock|env|vue|ipynb|csv|log|bat|ps1|gradle|properties|mk|cmake|proto|graphql)"
)
_KNOWN_SUFFIX = re.compile(rf"{_SUFFIX}$", re.IGNORECASE)
_PATH = re.compile(
    r"""(?<![\w/])@?(
        (?:\.{0,2}/)?(?:[\w.+@-]+/)+[\w.+@-]* | [\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,5} | Makefile | Dockerfile
    )(?::(\d+)(?:-\d+)?)?(?![\w/])""",
    re.ASCII | re.VERBOSE,
)
_OTHER_PATH = re.compile(rf"(?:^|\s)@?([^\s「」`\"'@]+{_SUFFIX})(?::(\d+))?(?![A-Za-z0-9])", re.IGNORECASE)
_ODD = re.compile(r"[^\x21-\x7e]")  # a path with these must be quoted, since its start is ambiguous
_WHOLE_NAMES = frozenset({"Makefile", "Dockerfile"})
_LONGEST_PATH = 200
_ASCII_NAME = re.compile(rf"(?<![\w/.@-])({NAME})(?:\(\))?(?![\w/-])", re.ASCII)
_JAPANESE = re.compile(r"[ぁ-んァ-ヶ一-龠]")
_SHORTEST_NAME = 3


def quoted_in(text: str) -> list[str]:
    """Return the texts in quotation marks or backticks."""
    return [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]


def path_in(text: str) -> str:
    """Return the first path of a file or folder in `text`."""
    return path_and_line(text)[0]


def path_and_line(text: str) -> tuple[str, str]:
    """Return the first path in `text` and its line number, each "" if there is none."""
    if odd := next((quoted for quoted in quoted_in(text) if is_path(quoted) and _ODD.search(quoted)), ""):
        return odd, ""
    for match in _PATH.finditer(text):
        path = match[1].rstrip(".,")
        is_address = re.match(r"\w+://", text[match.start() :])
        if not is_address and ("/" in path or _KNOWN_SUFFIX.search(path) or path in _WHOLE_NAMES):
            return path, match[2] or ""
    if other := _OTHER_PATH.search(text):
        return other[1], other[2] or ""
    return "", ""


def folder_in(text: str) -> str:
    """Return a folder named as such: "the views folder", 「views フォルダ」."""
    match = vocabulary.pattern("folder").search(text)
    found = next(filter(None, match.groups()), "") if match else ""
    return "" if found.lower() in vocabulary.stop() else found


def is_path(text: str) -> bool:
    """Whether a quoted text is a file name; it may contain spaces and any letters."""
    return len(text) <= _LONGEST_PATH and "\n" not in text and bool(_KNOWN_SUFFIX.search(text.strip()))


def name_in(text: str) -> str:
    """Return the identifier a question is about: in backticks, or spelled unlike an English word."""
    for quoted in quoted_in(text):
        if re.fullmatch(rf"[@#.]?{NAME}(?:\(.*\))?", quoted, re.ASCII):
            return re.sub(r"\(.*\)$", "", quoted).lstrip("@#")
    names = [match[1] for match in _ASCII_NAME.finditer(text)]
    return next((name for name in names if _is_written_as_a_name(name)), "") or _alone(names, text)


def _is_written_as_a_name(name: str) -> bool:
    if re.fullmatch(r"[a-z]+(?:\.[a-z]+)+", name) and _KNOWN_SUFFIX.search(name):
        return False
    return is_identifier(name) and name.lower() not in vocabulary.named("not_names")


def _alone(names: list[str], text: str) -> str:
    """Return the single Latin word in a Japanese question, or the whole input."""
    common = vocabulary.named("not_names")
    told = [name for name in names if name.lower() not in common and len(name) >= _SHORTEST_NAME]
    if len(told) != 1:
        return ""
    if _JAPANESE.search(text):
        return "" if re.search(r"[（(]", text[: text.find(told[0])]) else told[0]
    return told[0] if re.fullmatch(rf"\W*{re.escape(told[0])}\W*", text) else ""
