"""Recall: what of the document is an entry, and in which order entries are found."""

from datetime import date, timedelta

from localllm.memory.document import Document
from localllm.memory.search import MemoryEntry, Recall, entries_of

TODAY = date(2026, 11, 22)

TEXT = """---
front: matter
---
# Memory

words before

## Coding style
### Names
- nouns
- - -

## TODO

why there are so few
- [ ] open (high) +2026-01-01
  with details
- [x] over +2026-01-02 ✓2026-01-03

## Decisions
- 2026-02-01 use msgspec

## Preferences
- short answers

## Session records
- 2026-03-01 09:00 goal (20260301-090000-abcd)
  - done: it
- by hand

## Elsewhere
1. counted
   and more
***
!!!
"""


def test_all_that_stands_in_a_document_is_found_once() -> None:
    found = [(one.kind, one.text, one.when, one.heading) for one in entries_of(Document(TEXT))]
    assert found == [
        ("todo", "open\n  with details", "2026-01-01", ""),
        ("todo", "over", "2026-01-03", ""),
        ("decision", "use msgspec", "2026-02-01", ""),
        ("preference", "short answers", "", ""),
        ("session", "2026-03-01 09:00 goal (20260301-090000-abcd)\n- done: it", "2026-03-01 09:00", ""),
        ("notes", "words before", "", "Memory"),
        ("style", "nouns", "", "Names"),
        ("notes", "why there are so few", "", "TODO"),
        ("notes", "counted\n   and more", "", "Elsewhere"),
    ]
    assert len({(one.kind, one.id) for one in entries_of(Document(TEXT))}) == len(found)


def days(*ages: int) -> list[MemoryEntry]:
    return [MemoryEntry(f"s{age}", "event", "fixed the login", f"{TODAY - timedelta(days=age)}") for age in ages]


def found(recall: Recall, query: str, entries: list[MemoryEntry]) -> list[str]:
    return [one.entry.id for one in recall.search(query, entries, today=TODAY)]


def test_what_is_new_gone_or_changed_counts_with_the_next_search() -> None:
    recall = Recall()
    one, two = MemoryEntry("1", "event", "the parser"), MemoryEntry("2", "event", "the lexer", more_words="tokens")
    assert found(recall, "parser", [one, two]) == ["1"]
    assert found(recall, "tokens", [one, two]) == ["2"]
    other = MemoryEntry("1", "event", "the printer", heading="Output")
    assert found(recall, "parser", [other, two]) == []
    assert found(recall, "printer", [other, two]) == ["1"]
    assert found(recall, "output", [other, two]) == ["1"]
    assert found(recall, "lexer", [other]) == []


def test_the_words_decide_and_the_day_only_between_what_fits_alike() -> None:
    better = MemoryEntry("old", "event", "login login login", "2020-01-01")
    assert found(Recall(), "login", [*days(0), better]) == ["old", "s0"]
    scores = {one.entry.id: one.score for one in Recall().search("login", days(0, 30, 3000), today=TODAY)}
    assert list(scores) == ["s0", "s30", "s3000"]
    assert round(scores["s0"] / scores["s3000"], 2) == 1.05
    assert round((scores["s30"] - scores["s3000"]) / (scores["s0"] - scores["s3000"]), 1) == 0.5
    undated = MemoryEntry("undated", "event", "fixed the login")
    assert found(Recall(), "login", [undated, *days(3000)]) == ["s3000", "undated"]
