"""Who uses X, which files import Y."""

import re
from collections.abc import Iterable, Sequence

from localllm.code.definition_patterns import escape
from localllm.lookup.answers import numbered
from localllm.lookup.calls import Plan, search
from localllm.lookup.conversation import Talk
from localllm.lookup.definitions import defined_by
from localllm.lookup.places import worth
from localllm.lookup.plans.concept import concept
from localllm.lookup.questions import Question
from localllm.lookup.results import Hit, read_hits
from localllm.lookup.wording import say

_SHOWN = 10
_PER_FILE = 3
_IMPORT = re.compile(
    r"^\s*(?:from\s+\S+\s+import|import|#\s*include|use|using|require|export\s+\*)\b|require\(|\bfrom\s+['\"]"
)
_COMMENT = re.compile(r"^\s*(?:#(?!\s*(?:define|if|include))|//|\*|/\*|--|\x22\x22\x22|'''|\.\. |>>> )")
_RAISED = re.compile(r"\b(?:raise|throw|emit|get)(?:s|n|d|ed)?\b|発生|送出|投げ|起き", re.IGNORECASE)
_RAISES = re.compile(r"\b(?:raise|throw|panic|return Err|reject)\b")
_CALLS = re.compile(r"\bcall|\binvok|呼", re.IGNORECASE)


def uses(talk: Talk, question: Question) -> Plan:
    """The places where a name is used, or called where that is what was asked."""
    name = re.split(r"\.|::|#", question.subject)[-1]
    called = bool(_CALLS.search(talk.question))
    (result,) = yield (search(whole(name), files="source"),)
    found = read_hits(result.text)
    if not found.hits:
        (result,) = yield (search(whole(name)),)
        found = read_hits(result.text)
    hits = [hit for hit in found.hits if not _defines(hit, name)]
    if not found.hits:
        if name.isalpha() and name.islower():
            return (yield from concept(talk))
        return say(talk.japanese, "no_name", name=name)
    if not hits:
        return say(talk.japanese, "not_used", name=name)
    if _RAISED.search(talk.question):
        hits = [hit for hit in hits if _RAISES.search(hit.text)] or hits
    calls = [hit for hit in hits if re.search(rf"(?<!\w){re.escape(name)}\s*(?:<[^>]*>)?\(", hit.text)]
    wanted = _in_order(calls if called and calls else hits, name)
    more = say(talk.japanese, "at_least") if found.truncated else ""
    heading = say(talk.japanese, "called" if called and calls else "used", name=name, count=len(wanted), more=more)
    return "\n".join([heading, *_lines(wanted)])


def subclasses(talk: Talk, question: Question) -> Plan:
    """The classes that inherit from a class, or implement an interface."""
    name = re.split(r"\.|::|#", question.subject)[-1]
    (result,) = yield (search(_inheriting(name), files="source"),)
    found = read_hits(result.text)
    hits = sorted(found.hits, key=lambda hit: (-round(worth(hit.path), 1), hit.path, hit.line))
    if not hits:
        return say(talk.japanese, "no_subclasses", name=name)
    more = say(talk.japanese, "at_least") if found.truncated else ""
    return "\n".join([say(talk.japanese, "subclasses", name=name, count=len(hits), more=more), *_lines(hits)])


def imports(talk: Talk, question: Question) -> Plan:
    """The files that import a module."""
    name = question.subject.strip("<>\x22'")
    (result,) = yield (search(importing(name), files="source"),)
    hits = [hit for hit in read_hits(result.text).hits if not _COMMENT.match(hit.text)]
    if not hits:
        return say(talk.japanese, "not_imported", name=name)
    ordered = sorted(hits, key=lambda hit: (-worth(hit.path), hit.path.count("/"), hit.path, hit.line))
    count = len({hit.path for hit in hits})
    return "\n".join([say(talk.japanese, "imported", name=name, count=count), *_lines(ordered)])


def _inheriting(name: str) -> str:
    exact = escape(name)
    end = "(?:[^A-Za-z0-9_]|$)"
    before = "(?:[A-Za-z0-9_.:<>, ]*[ .:,<(])?"
    return "|".join(
        (
            rf"^[ \t]*class [A-Za-z0-9_]+\({before}{exact}{end}",
            rf"(?:class|interface|struct) .*(?:extends|implements|with|[<:])[ ]+{before}{exact}{end}",
            rf"^[ \t]*impl(?:<[^>]*>)? {before}{exact}(?:<[^>]*>)? for ",
        )
    )


def whole(name: str) -> str:
    """A regular expression for lines that have the name, and not only as a part of another."""
    return rf"(?:^|[^A-Za-z0-9_]){escape(name)}(?:[^A-Za-z0-9_]|$)"


def importing(name: str) -> str:
    """A regular expression for lines that import a module or package of this name, in any language."""
    exact = escape(name)
    end = "(?:[^A-Za-z0-9_-]|$)"
    return "|".join(
        (
            rf"^[ \t]*from[ ]+[.A-Za-z0-9_]*{exact}[ .]",
            rf"^[ \t]*(?:import|use|using|extern crate)[ ]+(?:[^'\x22#]*[ ,.:{{])?{exact}{end}",
            rf"^[ \t]*from[ ]+[.A-Za-z0-9_]+[ ]+import[ ].*\b{exact}{end}",
            rf"(?:require|import)[ (]+['\x22][^'\x22]*{exact}",
            rf"[ }}]from[ ]+['\x22][^'\x22]*{exact}",
            rf"^[ \t]*#[ ]*include[ ]+[<\x22][^>\x22]*{exact}",
            rf"^[ \t]+\x22[^\x22]*{exact}\x22$",
        )
    )


def _defines(hit: Hit, name: str) -> bool:
    defined = defined_by(hit.text, hit.path)
    return (
        defined is not None and defined.kind in ("class", "function") and re.split(r"\.|::", defined.name)[-1] == name
    )


def _in_order(hits: Sequence[Hit], name: str) -> list[Hit]:
    """The program before its tests, uses before imports and comments."""

    def order(hit: Hit) -> tuple[float, bool, str, int]:
        aside = bool(_IMPORT.match(hit.text) or _COMMENT.match(hit.text) or f"'{name}'" in hit.text)
        return (-round(worth(hit.path), 1), aside, hit.path, hit.line)

    return sorted(hits, key=order)


def _lines(hits: Iterable[Hit]) -> list[str]:
    """The first hits, at most a few of each file; then how many there are besides."""
    shown: list[Hit] = []
    left = 0
    for hit in hits:
        if len(shown) < _SHOWN and sum(other.path == hit.path for other in shown) < _PER_FILE:
            shown.append(hit)
        else:
            left += 1
    return [*numbered((hit.path, hit.line, hit.text.strip()) for hit in shown), *([f"- … +{left}"] if left else [])]
