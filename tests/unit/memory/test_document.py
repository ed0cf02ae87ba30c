"""The sections of LOCALLLM.md: recognised, made where they are missing, and nothing else touched."""

from datetime import date
from typing import get_args

import pytest

from localllm.base import i18n
from localllm.memory import notes, todos
from localllm.memory.document import Document
from localllm.memory.document_texts import Language
from localllm.memory.section_kinds import KINDS, SectionKind, heading, kind_of
from tests.support.each import each

TODAY = date(2026, 11, 22)
LINE = "- [ ] new +2026-11-22"


def added(text: str) -> str:
    return todos.add(Document(text), "new", today=TODAY)[0].text


@each("kind", KINDS)
@each("language", ["en", "ja"])
def test_our_own_headings_are_known(kind: SectionKind, language: str) -> None:
    assert kind_of(heading(kind, "ja" if language == "ja" else "en")) == kind


@each(
    ("title", "kind"),
    [
        ("TODO履歴", "todo"),
        ("ＴＯＤＯ", "todo"),
        ("📝 To-Do List:", "todo"),
        ("1. Todo", "todo"),
        ("**TODO**", "todo"),
        ("TODO (this week)", "todo"),
        ("やること", "todo"),
        ("project dna", "dna"),
        ("コーディング規約", "style"),
        ("フォルダ構成", "folders"),
        ("Decision Log", "decisions"),
        ("TODO or not", None),
        ("Sessions", None),
        ("", None),
        ("!!!", None),
    ],
)
def test_variants(title: str, kind: SectionKind | None) -> None:
    assert kind_of(title) == kind


def test_what_init_writes_is_known() -> None:
    for language in get_args(Language):
        titles = [heading(kind, language) for kind in KINDS]
        assert [kind_of(title) for title in titles] == list(KINDS)


@each(
    ("text", "after"),
    [
        ("", f"# Project Memory\n\n## TODO\n\n{LINE}\n"),
        ("\ufeff", f"\ufeff# Project Memory\n\n## TODO\n\n{LINE}\n"),
        ("\n", f"# Project Memory\n\n## TODO\n\n{LINE}\n\n"),
        ("text", f"text\n\n## TODO\n\n{LINE}"),
        ("text\r\n", f"text\r\n\r\n## TODO\r\n\r\n{LINE}\r\n"),
        ("# T\n## A\n## B\n", f"# T\n## A\n## B\n\n## TODO\n\n{LINE}\n"),
        ("# A\n# B\n", f"# A\n# B\n\n# TODO\n\n{LINE}\n"),
        ("## TODO", f"## TODO\n\n{LINE}"),
        ("## TODO\n", f"## TODO\n\n{LINE}\n"),
        ("## TODO\n## B\n", f"## TODO\n\n{LINE}\n\n## B\n"),
        ("TODO\n----\ntext\n\n\n## B\n", f"TODO\n----\ntext\n\n{LINE}\n\n\n## B\n"),
        ("## TODO\n- [ ] a", f"## TODO\n- [ ] a\n{LINE}"),
        ("## TODO\n- [ ] a\n## B\n", f"## TODO\n- [ ] a\n{LINE}\n## B\n"),
        ("## TODO\n\n- [ ] a\n\n- [x] b\n", f"## TODO\n\n- [ ] a\n\n- [x] b\n\n{LINE}\n"),
        ("## TODO\n- [ ] a\n\n### Done\n- [x] b\n", f"## TODO\n- [ ] a\n{LINE}\n\n### Done\n- [x] b\n"),
        ("## TODO\n### Open\n- [ ] a\n### Done\n- [x] b\n", f"## TODO\n### Open\n- [ ] a\n{LINE}\n### Done\n- [x] b\n"),
        ("## TODO\n9. [ ] a\n", "## TODO\n9. [ ] a\n10. [ ] new +2026-11-22\n"),
        ("## TODO\n  * [ ] a\n", "## TODO\n  * [ ] a\n  * [ ] new +2026-11-22\n"),
        ("## TODO\n<!-- hint -->\n", f"## TODO\n<!-- hint -->\n\n{LINE}\n"),
        ("## TODO\n- [ ] a\n## TODO\n- [ ] b\n", f"## TODO\n- [ ] a\n{LINE}\n## TODO\n- [ ] b\n"),
        ("# TODO\n- [ ] a\n## Decisions\n- b\n", f"# TODO\n- [ ] a\n{LINE}\n## Decisions\n- b\n"),
        ("## Coding style\nx\n## B\n", f"## Coding style\nx\n\n## TODO\n\n{LINE}\n\n## B\n"),
        ("# T\n\n```\n## TODO\n- [ ] a\n```\n", f"# T\n\n```\n## TODO\n- [ ] a\n```\n\n## TODO\n\n{LINE}\n"),
        ("# T\n\n## A\n\n```\nnever closed", f"# T\n\n## TODO\n\n{LINE}\n\n## A\n\n```\nnever closed"),
        ("## TODO\n<!-- never closed", f"## TODO\n\n{LINE}\n\n<!-- never closed"),
        ("---\na: 1\n---\n", f"---\na: 1\n---\n\n## TODO\n\n{LINE}\n"),
        ("## TODO\n- a\n  ~~~\n  ~~~\ntext\n", "## TODO\n- a\n  ~~~\n  ~~~\n" + f"{LINE}\n\ntext\n"),
        ("## TODO\r\n- [ ] a\n", f"## TODO\r\n- [ ] a\n{LINE}\n"),
        ("## TODO\n- [ ] a\r\n\n## B\n", f"## TODO\n- [ ] a\r\n{LINE}\r\n\n## B\n"),
        (
            "## TODO\n- [ ] a\n\n## B\n<<<<<<< x\nb\n>>>>>>> y\n",
            f"## TODO\n- [ ] a\n{LINE}\n\n## B\n<<<<<<< x\nb\n>>>>>>> y\n",
        ),
        (
            "## TODO\n<<<<<<< x\n- [ ] a\n=======\n- [ ] b\n>>>>>>> y\nwords\n",
            f"## TODO\n<<<<<<< x\n- [ ] a\n=======\n- [ ] b\n>>>>>>> y\n{LINE}\n\nwords\n",
        ),
        ("## TODO\n    code\n", f"## TODO\n    code\n\n{LINE}\n"),
        ("## TODO\n-\n", f"## TODO\n-\n{LINE}\n"),
        ("## TODO\n-     code\n", f"## TODO\n-     code\n{LINE}\n"),
        ("## TODO\n-    a\n", "## TODO\n-    a\n-    [ ] new +2026-11-22\n"),
        ("## TODO\n999999999. a\n", "## TODO\n999999999. a\n999999999. [ ] new +2026-11-22\n"),
        ("## TODO\n12. a\n", "## TODO\n12. a\n13. [ ] new +2026-11-22\n"),
    ],
)
def test_where_an_item_goes(text: str, after: str) -> None:
    assert added(text) == after


@each("marker", ["- ", "1. ", "3) ", "09. "])
def test_an_item_put_first_begins_as_the_one_that_was_first(marker: str) -> None:
    """A viewer counts on from the first number of a list."""
    document = Document(f"## Decisions\n{marker}b\n{marker}a\n").with_item("decisions", ["c"], first=True)
    assert document.text == f"## Decisions\n{marker}c\n{marker}b\n{marker}a\n"


def test_an_item_put_first_stays_out_of_a_conflict() -> None:
    text = "## Decisions\n\n<<<<<<< x\n- b\n=======\n- a\n>>>>>>> y\n- z\n"
    after = "## Decisions\n\n- c\n<<<<<<< x\n- b\n=======\n- a\n>>>>>>> y\n- z\n"
    assert Document(text).with_item("decisions", ["c"], first=True).text == after


def test_the_language_of_an_empty_file_is_that_of_the_program() -> None:
    i18n.set_language("ja")
    try:
        assert [Document(text).language for text in ("", " \n", "\ufeff", "words\n")] == ["ja", "ja", "en", "en"]
    finally:
        i18n.set_language("en")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("## プロジェクトDNA\n## TODO\n", "ja"),
        ("## Project DNA\n日本語の説明がここに続きます。\n", "en"),
        ("## TODO\n日本語の説明がここに続きます。\n", "ja"),
        ("## TODO\n", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_file(text: str, language: str) -> None:
    assert Document(text).language == language


def test_a_body_is_replaced_whole() -> None:
    text = "## Project DNA\n- old\n\n### more\nx\n\n## B\nmine"
    assert Document(text).with_body("dna", ["- new"]).text == "## Project DNA\n\n- new\n\n## B\nmine"
    assert Document("# T\n").with_body("style", ["- new"]).text == "# T\n\n## Coding style\n\n- new\n"
    tight = "## Project DNA\n- old\n## B\nmine"
    assert Document(tight).with_body("dna", ["- new"]).text == "## Project DNA\n\n- new\n\n## B\nmine"
    assert Document(text).body("dna") == "- old\n\n### more\nx"
    assert Document(text).body("todo") == ""


def test_the_first_todo_of_somebody_japanese_decides_the_language_of_what_comes_later() -> None:
    document = Document("# プロジェクトメモリ\n\n## TODO\n\n- [ ] write the tests of the parser and of the lexer\n")
    assert document.language == "ja"
    assert "## 決定事項" in document.with_item("decisions", ["x"]).text
    assert Document("# 日本語\n\n## Decisions\n").language == "en"


def test_a_section_goes_before_those_that_come_after_it() -> None:
    text = "# Memory\n\nwords\n\n## Decisions\n\n- a\n\n## Mine\n"
    before = "# Memory\n\nwords\n\n## Coding style\n\nx\n\n## Decisions\n\n- a\n\n## Mine\n"
    assert Document(text).with_body("style", ["x"]).text == before
    deep = "# Memory\n\n## Notes\n\n### Decisions\n\n- a\n"
    assert Document(deep).with_body("style", ["x"]).text == deep + "\n### Coding style\n\nx\n"
    conflict = "# Memory\n\n<<<<<<< a\n## Decisions\n=======\n## Sessions\n>>>>>>> b\n"
    assert Document(conflict).with_body("style", ["x"]).text.startswith(conflict)


@each(
    ("title", "kind"),
    [
        ("Decisions & reasons", "decisions"),
        ("Decisions and why we took them", "decisions"),
        ("3. **Decisions / Rationale** (2026)", "decisions"),
        ("Architecture decisions so far", "decisions"),
        ("決定事項と理由", "decisions"),
        ("決定事項・背景", "decisions"),
        ("Preferences and conventions", "preferences"),
        ("TODO / ideas", "todo"),
        ("Decision trees and why", None),
        ("Decisions and threads", None),
        ("TODO and FIXME comments", None),
        ("Tasks and threads", None),
        ("Project tasks", None),
        ("決定木と理由", None),
        ("タスクとスレッド", None),
    ],
)
def test_what_stands_beside_a_name_in_a_heading(title: str, kind: str | None) -> None:
    assert kind_of(title) == kind


def test_a_heading_that_is_the_name_alone_goes_before() -> None:
    both = Document("## Decisions & reasons\n- old\n\n## Decisions\n- 2026-01-01 new\n")
    assert [note.text for note in notes.notes(both, "decisions")] == ["new"]
    one = Document("## Decisions & reasons\n- old\n")
    after, _ = notes.add(one, "decisions", "new", today=TODAY)
    assert after.text == "## Decisions & reasons\n- old\n- 2026-11-22 new\n"


@each(
    ("text", "line"),
    [
        ("a\n<<<<<<< HEAD\n- [ ] b\n=======\n>>>>>>> other\n", 2),
        ("<<<<<<< HEAD\n", 0),
        (">>>>>>> x\n", 0),
        ("- [ ] a\n", 0),
    ],
)
def test_a_conflict_nobody_settled_is_found(text: str, line: int) -> None:
    assert Document(text).conflict == line


def test_what_is_left_of_an_item_does_not_join_the_paragraph_above() -> None:
    document = Document("## TODO\ntext\n- [ ] one\n9) two\n")
    after, _ = todos.remove(document, "one")
    assert [todo.text for todo in todos.todos(after)] == ["two"]
