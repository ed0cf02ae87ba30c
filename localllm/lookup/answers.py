"""Answers on places and names: where something is defined, used or described; the source of a message."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from localllm.base.i18n import sentences
from localllm.lookup import vocabulary
from localllm.lookup.code_units import documentation, is_import, types_of
from localllm.lookup.conversation import Talk
from localllm.lookup.document_lines import with_line
from localllm.lookup.file_kinds import file_kind, is_secret, worth
from localllm.lookup.index import Place, ProjectIndex
from localllm.lookup.questions import Question
from localllm.lookup.ranking import rank
from localllm.lookup.terms import Term, terms_of

_SHOWN = 3
_LISTED = 8
_MOST_HITS = 500
_LONGEST_LINE, _LONGEST_DOC = 120, 240
_ALIKE = 0.5
_ORDER = (
    "class struct interface trait function enum",
    "method type macro",
    "constant table",
    "variable target",
    "key",
    "heading",
)
"""Kinds of definitions of one name, most likely first."""

_OTHER_CASE = 2
"""Penalty for a name in another case: a class is still likelier than a variable of a test."""

_PUT_IN = re.compile(
    r"""\S*[\d/\\=<>{}%@_]\S* | ['"‘’“”`「」][^'"‘’“”`「」]*['"‘’“”`「」] | [:;,.!?]\s | \s[-–—]\s""", re.VERBOSE
)
"""Text that may have been interpolated at run time: numbers, paths, quoted names; and sentence ends."""

Hit = tuple[str, int, str]
"""A line of a file: path, number, text."""


def concept(talk: Talk, index: ProjectIndex, *, prefer: str = "") -> str:
    """Return the places that match the words of the question best, prefixed by "not sure" if the match is weak."""
    terms = terms_of(talk.question, known=frozenset(re.findall(r"\w+", index.root.name.lower())))
    prefer = prefer or ("constant" if vocabulary.pattern("of values").search(talk.question) else "")
    ranking = rank(index, terms, prefer=prefer) if terms else None
    if not terms or ranking is None or not ranking.places:
        return _nothing(talk, index, terms)
    places = [found.place for found in ranking.places]
    said: dict[Place, str] = {}
    for place in _spread(places):
        at_line, sentence = with_line(index, place, talk.question, terms)
        said[at_line] = sentence
    lines = told(talk, index, list(said), said)
    if ranking.is_sure:
        return lines
    missing = ", ".join(f"“{word}”" for word in ranking.missing)
    about = talk.say("not_there", words=missing) if missing else ""
    return sentences(talk.say("unsure"), about) + f"\n\n{lines}" + _more_to_come(talk, index)


def symbol(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """Answer where a name is defined, with its documentation."""
    found = definitions(index, question.subject, question.detail)
    if found:
        return told(talk, index, found)
    hits = lines_with(index, question.subject)
    if hits:
        return "\n".join(
            [talk.say("no_definition", name=question.subject), talk.say("only_used"), *numbered(hits[:_SHOWN])]
        )
    if secret := next(filter(is_secret, re.findall(r"[\w./-]*\w", talk.question, re.ASCII)), ""):
        return f"{secret} {talk.say('not_shown')}"
    ranking = rank(index, terms_of(question.subject))
    nothing = talk.say("no_name", name=question.subject) + _more_to_come(talk, index)
    if not ranking.places:
        return nothing
    return f"{nothing}\n{talk.say('unsure')}\n\n{told(talk, index, [found.place for found in ranking.places])}"


def definitions(index: ProjectIndex, name: str, path: str = "") -> list[Place]:
    """Return the definitions of a name, optionally dotted, most likely first; `path`: the file it is in."""
    *owners, last = re.split(r"\.|::|#", name.strip("."))
    found = index.named(last) or index.named(name)
    if owners:
        inside = [place for place in found if place.parent.lower() == owners[-1].lower()]
        found = inside or [place for place in found if owners[-1].lower() in place.path.lower()] or found
    if path:
        found = [place for place in found if place.path.endswith(path)] or found
    exact = [place for place in found if place.name == last]
    likely = exact if exact and not last.islower() else found  # a name typed in lower case may mean a class
    order = {kind: number for number, kinds in enumerate(_ORDER) for kind in kinds.split()}

    def unlikely(place: Place) -> float:
        return order.get(place.kind, 2) - 3 * worth(place.path) + (0 if place.name == last else _OTHER_CASE)

    return sorted(likely, key=lambda one: (unlikely(one), bool(one.parent), one[1:3]))


def uses(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """List the lines that use a name, calls first."""
    name = question.subject.rpartition(".")[2]
    defined = {(place.path, place.line) for place in index.named(name)}
    hits = [hit for hit in lines_with(index, name) if hit[:2] not in defined and not is_import(hit[2])]
    calls = [hit for hit in hits if re.search(rf"(?<![\w$]){re.escape(name)}(?:<[^>]*>)?\s*\(", hit[2])]
    raised = [hit for hit in calls if re.search(r"\b(?:raise|throw)\b", hit[2])]
    asks_raise = vocabulary.pattern("raising").search(talk.question)
    hits = (raised if asks_raise else []) or calls or hits
    if not hits:
        there = definitions(index, question.subject)
        return talk.say("not_used", name=question.subject) if there else symbol(talk, index, question)
    key = "called" if calls else "used"
    return "\n".join([talk.say(key, name=question.subject, count=len(hits)), *numbered(hits[:_LISTED])])


def imports(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """List the files that import a module, by its full name."""
    name = question.subject.strip("\"'<>`")
    end = r"(?![\w-])"
    whole = re.compile(rf"(?<![\w./@:-])(?:\./)?{re.escape(name)}{end}|[/.]{re.escape(name)}(?:\.\w+)?[\"'>]")
    package, _, last = name.rpartition(".")
    split = re.compile(rf"\bfrom\s+{re.escape(package)}\s+import\b.*\b{re.escape(last)}{end}") if package else None
    first: dict[str, Hit] = {}
    for path in index.files_with(re.findall(r"[\w$]+", name)):
        for number, line in enumerate(index.lines(path), 1):
            if (
                name[-1:]
                and last in line
                and (whole.search(line) or (split and split.search(line)))
                and is_import(line)
            ):
                first.setdefault(path, (path, number, line))
                break
    if not first:
        return talk.say("not_imported", name=name)
    hits = sorted(first.values(), key=lambda hit: (-worth(hit[0]), hit[0]))
    return "\n".join([talk.say("imported", name=name, count=len(hits)), *numbered(hits[:_LISTED])])


def subclasses(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """List the subclasses of a class."""
    name = re.escape(question.subject.rpartition(".")[2])
    of = re.compile(
        rf"(?>.*?\bclass\s+\w+)[^:]*[(,.\s]{name}\b\s*[,)(\[]|(?>.*?\b(?:extends|implements|with)\b).*\b{name}\b"
        rf"|(?>.*?\b(?:class|struct)\s+\w+)(?>.*?:).*\b{name}\b|(?>.*?\bimpl\b)(?>.*?\b{name}\b).*\bfor\b"
        rf"|.*\bclass\s+\w+\s*<\s*(?:\w+::)*{name}\b"
    )
    hits = [hit for hit in lines_with(index, question.subject.rpartition(".")[2]) if of.match(hit[2])]
    if not hits:
        return talk.say("no_subclasses", name=question.subject)
    return "\n".join([talk.say("subclasses", name=question.subject, count=len(hits)), *numbered(hits[:_LISTED])])


def message(talk: Talk, index: ProjectIndex, text: str) -> str:
    """Find the source line of a message; for a message composed at run time, the one with most of it."""
    pieces = [text, *sorted((piece.strip(" .:;,!?") for piece in _PUT_IN.split(text)), key=len, reverse=True)]
    best: list[tuple[float, Hit]] = []
    for piece in dict.fromkeys(pieces):
        words = re.findall(r"[^\W_]{3,}", piece)
        if not best and len(words) > (piece != text):
            hits = (hit for path in index.files_with(words) for hit in _alike(index, path, text))
            best = sorted(
                islice(hits, _MOST_HITS), key=lambda one: (-round(one[0] * (0.5 + worth(one[1][0])), 2), one[1])
            )
    if not best:
        return talk.say("no_message", text=text)
    exact = best[0][0] == 1.0
    heading = talk.say("message_at" if exact else "message_near", text=text)
    return "\n".join([heading, *numbered(hit for _, hit in best[:_SHOWN])])


def told(talk: Talk, index: ProjectIndex, places: Sequence[Place], said: Mapping[Place, str] = {}) -> str:
    """Format the best place with its source line, and a few others in a line each. `said`: known sentences."""
    best, *others = places
    lines = [f"`{best.full_name}` — {best.path}:{best.line}"]
    if not is_secret(best.path):
        text, doc = ("", shorten(said[best], _LONGEST_DOC)) if said.get(best) else excerpt(index, best)
        lines += ["", f"    {text}"] * bool(text) + ["", f"> {doc}"] * bool(doc)
    if others:
        lines += ["", talk.say("also")]
        lines += [in_a_line(index, place, said.get(place, "")) for place in others[: _SHOWN - 1]]
    return "\n".join(lines)


def in_a_line(index: ProjectIndex, place: Place, said: str = "") -> str:
    """Format a place with its name and the first words of its documentation, or those in `said`."""
    doc = "" if is_secret(place.path) else said or excerpt(index, place)[1]
    return f"- {place.path}:{place.line} — `{place.full_name}`" + (f": {shorten(doc)}" if doc else "")


def excerpt(index: ProjectIndex, place: Place) -> tuple[str, str]:
    """Return the line of a place, and the first words of its documentation."""
    lines = index.lines(place.path)
    if not 0 < place.line <= len(lines):
        return "", ""
    doc = documentation(lines, place.line, python="python" in types_of(place.path))
    text = "" if place.kind == "file" else shorten(lines[place.line - 1].strip().rstrip("{").rstrip(), _LONGEST_DOC)
    said = re.split(r"\n\s*\n|(?<=[.。])\s", doc.strip(), maxsplit=1)[0]
    return text, shorten(said, _LONGEST_DOC)


def numbered(hits: Iterable[Hit]) -> list[str]:
    """Format lines of files with their positions, hiding the content of secret files."""
    return [
        f"- {path}:{line}" + ("" if is_secret(path) or not text.strip() else f" — `{shorten(text)}`")
        for path, line, text in hits
    ]


def shorten(text: str, most: int = _LONGEST_LINE) -> str:
    """Return `text` in one line of at most `most` characters."""
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"


def _spread(places: Sequence[Place]) -> list[Place]:
    """Return the best places without duplicates, at most two per file among the first."""
    first: list[Place] = []
    for place in places:
        if sum(other.path == place.path for other in first) < 2:
            first.append(place)
        if len(first) == _SHOWN:
            break
    return first


def _nothing(talk: Talk, index: ProjectIndex, terms: Sequence[Term]) -> str:
    searched = ", ".join(dict.fromkeys(term.text for term in terms)) or talk.question
    said = sentences(talk.say("not_found", searched=shorten(searched)), talk.say("not_found_rephrase"))
    return said + _more_to_come(talk, index)


def _more_to_come(talk: Talk, index: ProjectIndex) -> str:
    coming = "\n" + talk.say("left_out", count=index.left_out) if index.left_out else ""
    return coming + unnamed_files(talk, index)


def unnamed_files(talk: Talk, index: ProjectIndex) -> str:
    """Return a line about the files that no answer knows of, as their names are not UTF-8; "" if there are none."""
    return "\n" + talk.say("unnamed", count=index.unnamed) if index.unnamed else ""


def lines_with(index: ProjectIndex, name: str, *, comments: bool = False) -> list[Hit]:
    """Return the lines that contain a name as a whole word, program code first."""
    last = re.split(r"\.|::|#", name.strip("."))[-1]
    word = re.compile(rf"(?<![\w$]){re.escape(last)}(?![\w$])")
    paths = sorted(index.files_with([last]), key=lambda path: (-worth(path), path))
    found = (
        (path, number, line)
        for path in paths
        for number, line in enumerate(index.lines(path), 1)
        if last in line and word.search(line) and (comments or not re.match(r"\s*(?:#(?!\s*define)|//|\*)", line))
    )
    return list(islice(found, _MOST_HITS))


def _alike(index: ProjectIndex, path: str, text: str) -> Iterator[tuple[float, Hit]]:
    """Yield the lines of a file that share most words with `text`, with the share (0 to 1)."""
    wanted = re.findall(r"[^\W_]+", text.lower())
    plain = " ".join(text.split()).lower()
    for number, line in enumerate(index.lines(path), 1):
        small = line.lower()
        if plain in small:
            yield 1.0, (path, number, line)
        elif (share := sum(word in small for word in wanted) / max(1, len(wanted))) >= _ALIKE:
            yield 0.95 * share, (path, number, line)


def tests_for(talk: Talk, index: ProjectIndex, subject: str) -> str:
    """List the test files for a subject, or all of them."""
    about = vocabulary.named("of_tests")
    terms = [term for term in terms_of(subject or talk.question) if term.text.lower() not in about]
    ranking = rank(index, terms, wanted="test") if terms else None
    fitting = [found.place for found in ranking.places if file_kind(found.place.path) == "test"] if ranking else []
    if terms and fitting:
        one_a_file = {place.path: place for place in reversed(fitting[:30])}
        best = sorted(one_a_file.values(), key=fitting.index)[:_LISTED]
        sure = [] if ranking and ranking.is_sure else [talk.say("unsure")]
        return "\n".join([*sure, talk.say("tests"), *(in_a_line(index, place) for place in best)])
    tests = [
        path
        for path in index.paths()
        if file_kind(path) == "test"
        and "code" in {*types_of(path), *("code" for kind in types_of(path) if kind == "python")}
    ]
    if terms or not tests:
        return talk.say("no_tests")
    return "\n".join([talk.say("tests"), *(f"- {path}:1" for path in tests[:_LISTED])])
