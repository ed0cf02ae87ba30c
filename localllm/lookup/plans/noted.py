"""What the project's notes say: what was decided, what is preferred, what the last session was about."""

import re
from collections.abc import Sequence

from localllm.lookup import vocabulary
from localllm.lookup.calls import NOT_OFFERED, Plan, Result, recall
from localllm.lookup.conversation import Talk
from localllm.lookup.matching import prepare, text_fit
from localllm.lookup.terms import Term, terms_of
from localllm.lookup.wording import say
from localllm.lookup.words import stem

_SECTIONS = {"decided": "decisions", "preferred": "preferences"}
_KINDS = {"decisions": "decision", "preferences": "preference"}
_FOUND = re.compile(r"\[(?P<kind>\w+)(?: (?P<when>\d{4}-\d\d-\d\d)[^\]]*)?[^\]]*\] (?P<text>.*)")


def noted(talk: Talk, kind: str) -> Plan:
    """The decisions or preferences: all that the conversation was told; about a subject those that fit it, else what
    a search of the notes finds."""
    section = _SECTIONS[kind]
    lines, terms = talk.notes.lines.get(section, ()), _subject(talk)
    fitting = [line for line in lines if _fits(terms, line)] if terms else list(lines)
    if fitting:
        rest = 0 if terms else talk.notes.left_out.get(section, 0)
        return _told(talk, section, fitting, rest)
    (result,) = yield (recall(" ".join(term.text for term in terms) or talk.question),)
    if told := unread(talk, result):
        return told
    found = [line for line in _of_kind(_KINDS[section], result.text) if not terms or _fits(terms, line)]
    if found:
        return _told(talk, section, found, 0)
    if lines:
        return "\n".join([say(talk.japanese, f"no_{section}_about"), *lines])
    return say(talk.japanese, f"no_{section}")


def last_session(talk: Talk) -> Plan:
    """The record of the last session, as the conversation was told it."""
    if lines := talk.notes.lines.get("session", ()):
        first, *rest = lines
        heading = say(talk.japanese, "last_session", file=talk.notes.file)
        return "\n".join([heading, f"- {first}", *(f"  {line}" for line in rest)])
    (result,) = yield (recall(talk.question),)
    return unread(talk, result) or say(talk.japanese, "no_session")


def unread(talk: Talk, result: Result) -> str:
    """That the notes could not be read and why, "" where they could."""
    if not result.error or result.error == NOT_OFFERED:
        return ""
    return say(talk.japanese, "notes_unread", reason=" ".join(result.text.split()))


def _of_kind(kind: str, text: str) -> list[str]:
    """The entries of a kind among those that recall found, as the notes list them."""
    found = [match for line in text.split("\n") if (match := _FOUND.match(line)) and match["kind"] == kind]
    return [f"- {match['when']} {match['text']}" if match["when"] else f"- {match['text']}" for match in found]


def _told(talk: Talk, section: str, lines: Sequence[str], rest: int) -> str:
    heading = say(talk.japanese, section, file=talk.notes.file or "LOCALLLM.md")
    return "\n".join([heading, *lines, *([f"- … +{rest}"] if rest else [])])


def _subject(talk: Talk) -> tuple[Term, ...]:
    """The words of the question that say what it is about; none where it asks for all."""
    about = vocabulary.named("of_notes")
    return tuple(
        term
        for term in terms_of(talk.question)
        if not ({term.text.lower(), term.literal} & about) and stem(term.text.lower()) not in talk.project.name_stems
    )


def _fits(terms: Sequence[Term], line: str) -> bool:
    text = prepare(line)
    return any(text_fit(term, text) for term in terms if not term.soft) or (
        all(term.soft for term in terms) and any(text_fit(term, text) for term in terms)
    )
