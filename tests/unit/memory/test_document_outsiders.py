"""Files that nobody has foreseen: each is read as its author meant it, keeps every byte, and lets itself be changed."""

from collections.abc import Sequence
from datetime import date
from unicodedata import normalize

import pytest

from localllm.memory import notes, todos
from localllm.memory.document import Document
from localllm.memory.external_memory import digest
from localllm.memory.search import entries_of
from localllm.memory.section_kinds import kind_of
from tests.support.each import each

TODAY = date(2026, 11, 22)
NEW = "- [ ] new +2026-11-22\n"

CASES: dict[str, tuple[str, Sequence[str]]] = {
    "a rule with text right below": ("---\nhello there\n\n## TODO\n- [ ] a\n\n---\nend\n", ["a"]),
    "a rule, a sentence with a colon": ("---\nNote: hi\n\nplain words\n\n## TODO\n- [ ] a\n---\n", ["a"]),
    "front matter with lists and comments": (
        "---\ntitle: x\ntags:\n- a\n# TODO\n- b\nc: |\n  x\n...\n## TODO\n- z\n",
        ["z"],
    ),
    "front matter in TOML": ("+++\na = 1\n[x.y]\n# TODO\n+++\n## TODO\n- a\n", ["a"]),
    "full-width indentation": ("## TODO\n- [ ] a\n\u3000- [ ] b\n- [ ] c\n", ["a", "c"]),
    "a line of a full-width space": ("## TODO\n- [ ] a\n\u3000\n- [ ] b\n", ["a", "b"]),
    "a conflict": ("## TODO\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", ["a", "b"]),
    "a heading that is a link": ("## [TODO](#todo)\n- a\n", ["a"]),
    "a heading that links elsewhere": ("## [TODO](https://example.org/x)\n- a\n", ["a"]),
    "a heading with an id": ("## TODO {#todo}\n- a\n", ["a"]),
    "a heading with classes": ("## TODO {.c #todo}\n- a\n", ["a"]),
    "a heading with an anchor": ('## <a id="todo"></a>TODO\n- a\n', ["a"]),
    "a heading with an anchor behind": ('## TODO <a name="t"></a>\n- a\n', ["a"]),
    "a heading with a footnote": ("## TODO[^1]\n- a\n\n[^1]: note\n", ["a"]),
    "a heading with hashes behind": ("## TODO ##\n- a\n", ["a"]),
    "a heading in decomposed letters": (
        "## フ\u309aロシ\u3099ェクト概要\n- d\n## やること\n- か\u3099\n",
        ["か\u3099"],
    ),
    "a quotation": ("> ## TODO\n> - [ ] a\n\n## TODO\n- [ ] b\n", ["b"]),
    "a callout": ("## TODO\n> [!NOTE]\n> - [ ] q\n- [ ] b\n", ["b"]),
    "two byte order marks": ("\ufeff\ufeff## TODO\n- a\n", ["a"]),
    "a NUL": ("## TODO\n- a\0b\n- c\n", ["a\0b", "c"]),
    "a form feed": ("## TODO\n- a\x0cb\n\x0c\n- c\n", ["a\x0cb", "c"]),
    "a next line": ("## TODO\n- a\x85- b\n- c\n", ["a\x85- b", "c"]),
    "a line separator": ("## TODO\n- a\u2028- b\n", ["a\u2028- b"]),
    "within details": ("<details>\n\n## TODO\n- a\n</details>\n", ["a"]),
    "a day that is none": ("## TODO\n- [x] x ✓2026-13-45\n", ["x ✓2026-13-45"]),
    "a month that is none": ("## TODO\n- [ ] x +2026-00-10\n", ["x +2026-00-10"]),
    "two priorities": ("## TODO\n- [ ] x (high) (low)\n", ["x (high)"]),
    "a priority alone": ("## TODO\n- [ ] (high)\n", ["(high)"]),
    "a rule right below": ("## TODO\n- a\n---\ntail\n", ["a"]),
    "a table": ("## TODO\n| t |\n|---|\n| - a |\n- [ ] b\n", ["b"]),
    "tabs": ("## TODO\n-\t[ ] a\n\t- n\n-\t[x] b\n", ["a", "b"]),
    "old Macintosh": ("## TODO\r- a\r- b\r", ["a", "b"]),
    "a comment between": ("## TODO\n- a\n<!--\n- [ ] b\n-->\n- c\n", ["a", "c"]),
    "a footnote right below": ("## TODO\n- a\n[^1]: note\n", ["a"]),
    "two kinds of numbers": ("## TODO\n1. a\n2) b\n", ["a", "b"]),
    "escaped brackets": ("## TODO\n- \\[ \\] a\n", ["\\[ \\] a"]),
    "an item that is a link": ("## TODO\n- [x](http://e) see\n- [x] done\n", ["[x](http://e) see", "done"]),
    "newlines of two kinds, none at the end": ("## TODO\r\n- a\n- b", ["a", "b"]),
    "much nested in it": ("## TODO\n- a\n  - [ ] n\n\n    para\n\n      code\n- b\n", ["a", "b"]),
}


def names(document: Document) -> list[str]:
    return [todo.text for todo in todos.todos(document)]


@each("name", CASES)
def test_it_is_read_as_it_was_meant(name: str) -> None:
    text, wanted = CASES[name]
    assert names(Document(text)) == list(wanted)


@each("name", CASES)
def test_what_is_added_is_all_that_is_new(name: str) -> None:
    text, wanted = CASES[name]
    after = todos.add(Document(text), "new", today=TODAY)[0]
    same = next((at for at, (old, new) in enumerate(zip(text, after.text, strict=False)) if old != new), len(text))
    assert after.text.endswith(text[same:])
    assert names(after) == [*wanted, "new"]


@each("name", CASES)
def test_each_can_be_finished_and_removed(name: str) -> None:
    text, wanted = CASES[name]
    document = Document(text)
    for place, todo in enumerate(todos.todos(document)):
        state = "planned" if todo.state == "done" else "done"
        finished, _ = todos.set_state(document, str(todo.number), state, today=TODAY)
        assert names(finished) == list(wanted)
        assert todos.todos(finished)[place].state == state
        removed, _ = todos.remove(document, str(todo.number))
        assert names(removed) == [*wanted[:place], *wanted[place + 1 :]]


CONFLICT = "<<<<<<< HEAD\n- [ ] a\n||||||| base\n- [ ] o\n=======\n- [ ] b\n>>>>>>> x\n"


def test_what_is_added_is_on_no_side_of_a_conflict() -> None:
    text = f"## TODO\n- [ ] z\n{CONFLICT}\n## B\n"
    assert todos.add(Document(text), "new", today=TODAY)[0].text == f"## TODO\n- [ ] z\n{CONFLICT}{NEW}\n## B\n"
    decisions = "## Decisions\n<<<<<<< HEAD\n- 2026-03-01 a\n=======\n- 2026-02-01 b\n>>>>>>> x\n"
    after = notes.add(Document(decisions), "decisions", "c", today=TODAY)[0].text
    assert after == decisions.replace("<<<", "- 2026-11-22 c\n<<<", 1)


def test_the_marks_of_a_conflict_stay_when_an_item_goes() -> None:
    after = todos.remove(Document(f"## TODO\n{CONFLICT}"), "a")[0]
    assert [line for line in after.text.split("\n") if line[:1] in tuple("<|=>")] == [
        "<<<<<<< HEAD", "||||||| base", "=======", ">>>>>>> x"
    ]  # fmt: skip
    assert names(after) == ["o", "b"]


def test_the_same_in_other_letters_is_not_added_twice() -> None:
    document = todos.add(Document(""), "がぎ", today=TODAY)[0]
    assert todos.add(document, normalize("NFD", "がぎ"), today=TODAY)[0].text == document.text


@pytest.mark.parametrize(
    "title", ["TODO list for {x} you", "<b>other</b>", "TODO" + "!" * 300, "{#todo}", "[^1]", "[TODO](a) and more"]
)
def test_what_is_no_heading_of_ours(title: str) -> None:
    assert kind_of(title) is None


SIZE = 200_000
HOSTILE = {
    "white space within an item": "## TODO\n- [ ] a" + " " * SIZE + "b\n",
    "signs in a heading": "## a" + "!" * SIZE + "b\n",
    "brackets in a heading": "## " + "()" * SIZE + "a\n",
    "hashes in a heading": "## a " + "# " * SIZE + "x\n",
    "lists in lists": "## TODO\n" + "- " * SIZE + "x\n",
    "accents out of order": "## TODO\n- a" + "\u0301\u0316" * SIZE + "x\n",
    "one line": "## TODO\n- " + "word " * (SIZE // 2) + "\n",
    "many items": "## TODO\n" + "".join(f"- [ ] task {number}\n" for number in range(3_000)),
}
"""Each took minutes where its size counted with its square."""


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_holds_us_up(name: str) -> None:
    document = todos.add(Document(HOSTILE[name]), "new", today=TODAY)[0]
    assert "new" in names(document)
    assert len(digest(document, 1200).encode()) <= 1200
    assert list(entries_of(document))
