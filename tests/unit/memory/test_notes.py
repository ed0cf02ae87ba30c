"""Decisions and preferences: one-liners, dated or not, in the order the file has."""

from datetime import date

import pytest

from localllm.base.errors import LocalLLMError
from localllm.memory import notes
from localllm.memory.document import Document
from tests.support.each import each

TODAY = date(2026, 11, 22)


def test_a_decision_gets_its_day_and_a_preference_none() -> None:
    document, decision = notes.add(Document(""), "decisions", "use\n  msgspec ", today=TODAY)
    document, preference = notes.add(document, "preferences", "短く答える", today=TODAY)
    assert document.text == (
        "# Project Memory\n\n## Decisions\n\n- 2026-11-22 use msgspec\n\n## Preferences\n\n- 短く答える\n"
    )
    assert (decision.text, decision.when) == ("use msgspec", "2026-11-22")
    assert notes.notes(document, "preferences") == (preference,)


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("- 2026-01-02 a", "2026-01-02"),
        ("- 2026-01-02: a", "2026-01-02"),
        ("- (2026-01-02) a", "2026-01-02"),
        ("- 2026-01-02 - a", "2026-01-02"),
        ("- 2026-01-02 : a", "2026-01-02"),
        ("- 2026-01-02 ： a", "2026-01-02"),
        ("- [2026-01-02] - a", "2026-01-02"),
        ("- a", ""),
    ],
)
def test_decisions_written_by_hand(line: str, when: str) -> None:
    [note] = notes.notes(Document(f"## 決定事項\n{line}\n"), "decisions")
    assert (note.text, note.when) == ("a", when)


def test_the_newest_stand_where_the_file_has_them() -> None:
    down = "## Decisions\n- 2026-03-01 c\n- 2026-02-01 b\n"
    assert notes.add(Document(down), "decisions", "d", today=TODAY)[0].text == (
        "## Decisions\n- 2026-11-22 d\n- 2026-03-01 c\n- 2026-02-01 b\n"
    )
    up = "## Decisions\n- 2026-02-01 b\n- 2026-03-01 c\n- 2026-03-01 d\n"
    assert [note.text for note in notes.newest(Document(up), "decisions")] == ["d", "c", "b"]
    assert [note.text for note in notes.newest(Document(down), "decisions")] == ["c", "b"]
    mixed = "## Decisions\n- 2026-02-01 b\n- 2026-04-01 d\n- 2026-03-01 c\n- a\n"
    assert [note.text for note in notes.newest(Document(mixed), "decisions")] == ["d", "c", "b", "a"]
    assert notes.add(Document(mixed), "decisions", "e", today=TODAY)[0].text == f"{mixed}- 2026-11-22 e\n"


def test_the_same_is_not_noted_twice() -> None:
    document, one = notes.add(Document(""), "decisions", "Use msgspec", today=TODAY)
    again, other = notes.add(document, "decisions", "use  MSGSPEC", today=date(2027, 1, 1))
    assert again is document
    assert one == other


def test_a_bullet_is_no_part_of_the_text() -> None:
    assert notes.add(Document(""), "decisions", "- * a", today=TODAY)[1].text == "a"


def test_one_is_found_by_its_id_or_beginning() -> None:
    document = Document("## Preferences\n- short answers\n- long names\n")
    for wanted in ("lo", notes.notes(document, "preferences")[1].id):
        assert notes.remove(document, "preferences", wanted)[1].text == "long names"


def test_removing() -> None:
    document = Document("## Preferences\n\n- a\n  more of a\n\n- b\n\n## B\n")
    after, note = notes.remove(document, "preferences", "a")
    assert note.text == "a"
    assert after.text == "## Preferences\n\n- b\n\n## B\n"
    with pytest.raises(LocalLLMError):
        notes.remove(after, "preferences", "a")


@each("text", ["2026-01-02 a", "[x] a", "```a", "<pre> a", "# a", "> a"])
@each("kind", ["decisions", "preferences"])
def test_odd_texts(text: str, kind: notes.NoteKind) -> None:
    document, note = notes.add(Document("## Decisions\n- z\n## Preferences\n- z\n## B\n"), kind, text, today=TODAY)
    assert note.text == text
    assert len(notes.notes(document, kind)) == 2
    assert document.text.endswith("## B\n")
