"""TODOs: every state in every style, ids and numbers, priorities and dates."""

from datetime import date

import pytest

from localllm.base.errors import LocalLLMError
from localllm.memory import todos
from localllm.memory.document import Document
from localllm.memory.todos import Priority, State, Todo
from tests.support.each import each

TODAY = date(2026, 11, 22)
PAPERS = "## TODO履歴\n- [完了] ユーザー認証機能実装\n- [進行中] API最適化\n- [予定] フロントエンド刷新\n"


def one(line: str) -> Todo:
    [todo] = todos.todos(Document(f"## TODO\n{line}\n"))
    return todo


def key_of(error: pytest.ExceptionInfo[LocalLLMError]) -> str:
    return error.value.key


@each(
    ("line", "state", "text"),
    [
        ("- [ ] a", "planned", "a"),
        ("* [X] a", "done", "a"),
        ("1. [~] a", "doing", "a"),
        ("- [-] a", "dropped", "a"),
        ("- [/] a", "doing", "a"),
        ("- [✓] a", "done", "a"),
        ("- [　] a", "planned", "a"),
        ("- [] a", "planned", "a"),
        ("- [完了]a", "done", "a"),
        ("- 【進行中】a", "doing", "a"),
        ("- ［予定］ a", "planned", "a"),
        ("- [WIP] a", "doing", "a"),
        ("- [中止] a", "dropped", "a"),
        ("- a", "planned", "a"),
        ("- [x](https://example.org) a", "planned", "[x](https://example.org) a"),
        ("- [x]a", "planned", "[x]a"),
        ("- [later] a", "planned", "[later] a"),
    ],
)
def test_states_are_read(line: str, state: State, text: str) -> None:
    todo = one(line)
    assert (todo.state, todo.text) == (state, text)


@pytest.mark.parametrize("line", ["- [ ]", "-", "- [x] "])
def test_an_empty_item_is_none(line: str) -> None:
    assert not todos.todos(Document(f"## TODO\n{line}\n"))


@pytest.mark.parametrize(
    ("line", "priority", "dates"),
    [
        ("- [ ] a (high)", "high", ("", "")),
        ("- [ ] a（高）", "high", ("", "")),
        ("- [ ] a (LOW) +2026-01-02", "low", ("2026-01-02", "")),
        ("- [x] a +2026-01-02 ✓2026-01-03", "medium", ("2026-01-02", "2026-01-03")),
        ("- [-] a ✗2026-01-03  ", "medium", ("", "2026-01-03")),
    ],
)
def test_priority_and_dates_are_read(line: str, priority: Priority, dates: tuple[str, str]) -> None:
    todo = one(line)
    assert (todo.text, todo.priority, (todo.added, todo.finished)) == ("a", priority, dates)


def test_the_style_of_the_file_is_kept() -> None:
    document = Document(PAPERS)
    document, _ = todos.add(document, "テストを書く", "high", today=TODAY)
    document, _ = todos.set_state(document, "API", "done", today=TODAY)
    document, _ = todos.set_state(document, "3", "dropped", today=TODAY)
    assert document.text == (
        "## TODO履歴\n- [完了] ユーザー認証機能実装\n- [完了] API最適化 ✓2026-11-22\n"
        "- [中止] フロントエンド刷新 ✗2026-11-22\n- [予定] テストを書く (高) +2026-11-22\n"
    )


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("- [ ] a", "- [x] a ✓2026-11-22"),
        ("* [ ]\ta (low) +2026-01-02  ", "* [x]\ta (low) +2026-01-02 ✓2026-11-22  "),
        ("- a", "- [x] a ✓2026-11-22"),
        ("- 【予定】a", "- 【完了】a ✓2026-11-22"),
        ("- [todo] a", "- [done] a ✓2026-11-22"),
        ("- [-] a ✗2026-01-02", "- [x] a ✓2026-11-22"),
    ],
)
def test_finishing(line: str, after: str) -> None:
    document, todo = todos.set_state(Document(f"## TODO\n{line}"), "1", "done", today=TODAY)
    assert document.text == f"## TODO\n{after}"
    assert todo.finished == "2026-11-22"
    reopened, _ = todos.set_state(document, todo.id, "doing", today=TODAY)
    assert todos.find(reopened, todo.id).finished == ""


def test_setting_what_it_is_changes_nothing() -> None:
    document = Document("## TODO\n- [x] a ✓2026-01-01\n")
    assert todos.set_state(document, "1", "done", today=TODAY)[0] is document
    assert todos.set_priority(document, "1", "medium")[0] is document


def test_details_go_with_their_item() -> None:
    task = " first \r\n  - [ ] sub\r\n\r\n      ## deep\n  ```\n"
    document, todo = todos.add(Document("## TODO\n- [ ] z\n"), task, today=TODAY)
    assert document.text == "## TODO\n- [ ] z\n- [ ] first +2026-11-22\n  - [ ] sub\n\n      ## deep\n  ```\n"
    assert todo.text == "first"
    moved, _ = todos.move(document, todo.id, 1)
    assert todos.todos(moved)[0].details == todo.details
    assert [one.text for one in todos.todos(moved)] == ["first", "z"]
    removed, _ = todos.remove(moved, "first")
    assert removed.text == "## TODO\n- [ ] z\n"


def test_ids_stay_with_the_text() -> None:
    document = Document("## TODO\n- [ ] a\n- [ ] b\n- [ ] a\n")
    first, second, third = (todo.id for todo in todos.todos(document))
    assert third == f"{first}-2"
    changed, _ = todos.set_state(document, second, "done", today=TODAY)
    changed, _ = todos.set_priority(changed, second, "high")
    assert [todo.id for todo in todos.todos(changed)] == [first, second, third]
    assert one("- [完了] Ａ  (low)").id == first
    assert todos.set_text(document, second, "c", today=TODAY)[1].id != second


def test_ids_are_unique_among_many() -> None:
    lines = "".join(f"- [ ] task {number}\n" for number in range(3000))
    found = todos.todos(Document(f"## TODO\n{lines}"))
    assert len({todo.id for todo in found}) == 3000
    assert max(len(todo.id) for todo in found) <= 8


def test_what_is_meant() -> None:
    document = Document("## TODO\n- [x] write docs\n- [ ] write tests\n- [ ] 表を 直す\n- [ ] 7 wonders\n")
    known = todos.todos(document)
    assert todos.find(document, f" #{known[1].id.upper()} ") == known[1]
    assert todos.find(document, "write") == known[1]  # the open one
    assert todos.find(document, "WRITE D") == known[0]
    assert todos.find(document, "表を") == known[2]
    assert todos.find(document, "4") == known[3]
    assert todos.find(document, "7 w") == known[3]
    for wanted in ("nothing", "", "9", "#"):
        with pytest.raises(LocalLLMError) as error:
            todos.find(document, wanted)
        assert key_of(error) == "memory_unknown"
    with pytest.raises(LocalLLMError) as error:
        todos.find(Document("## TODO\n- write a\n- write b\n"), "write")
    assert key_of(error) == "memory_ambiguous"


def test_an_open_one_is_not_doubled() -> None:
    document, todo = todos.add(Document(""), "write docs", today=TODAY)
    again, same = todos.add(document, " Write  DOCS ", "high", today=TODAY)
    assert same.id == todo.id
    assert [one.priority for one in todos.todos(again)] == ["high"]
    done, _ = todos.set_state(again, todo.id, "done", today=TODAY)
    assert len(todos.todos(todos.add(done, "write docs", today=TODAY)[0])) == 2


@pytest.mark.parametrize("text", ["", "  \n ", "---", "- [ ]", "、。"])
def test_a_text_must_say_something(text: str) -> None:
    with pytest.raises(LocalLLMError) as error:
        todos.add(Document(""), text, today=TODAY)
    assert key_of(error) == "memory_text_empty"


@each(
    "text",
    [
        "[later] a",
        "[x](u) a",
        "a (high) b",
        "a +2026-13-02",
        "(high)",
        "✓2026-01-02",
        "# a",
        "1. a",
        "> a",
        "<!-- a",
        "a\\",
        "a\x1b[31m",
        "`a",
        "```a",
        "a\u2028b",
    ],
)
@each("priority", ["high", "medium"])
def test_odd_texts_are_one_item(text: str, priority: Priority) -> None:
    document, todo = todos.add(Document("## TODO\n- [ ] z\n\n## B\n"), text, priority, today=TODAY)
    assert [one.text for one in todos.todos(document)] == ["z", todo.text]
    assert document.text.endswith("\n\n## B\n")
    assert (todo.added, todo.state) == ("2026-11-22", "planned")
    assert "\x1b" not in document.text


@pytest.mark.parametrize(("to", "order"), [(1, "cab"), (2, "acb"), (3, "abc"), (-5, "cab"), (99, "abc")])
def test_moving(to: int, order: str) -> None:
    document = Document("## TODO\n- a\n  - nested\n\n- b\r\n- c")
    moved, todo = todos.move(document, "c", to)
    assert "".join(one.text for one in todos.todos(moved)) == order
    assert todo.number == max(1, min(to, 3))
    assert not moved.text.endswith("\n")


def test_what_would_become_something_else_is_not_moved() -> None:
    document = Document("## TODO\n- a\n\ntext\n- b\n---\n")
    with pytest.raises(LocalLLMError) as error:
        todos.move(document, "b", 1)
    assert key_of(error) == "memory_layout"
    assert todos.remove(document, "b")[0].text == "## TODO\n- a\n\ntext\n\n---\n"


def test_the_most_urgent_first() -> None:
    text = "## TODO\n- [ ] e (low)\n- [ ] c\n- [x] z (high)\n- [ ] b (high)\n- [~] a\n- [ ] d\n"
    assert [todo.text for todo in todos.by_urgency(todos.todos(Document(text)))] == list("abcde")


def test_words_for_priorities() -> None:
    assert [todos.as_priority(word) for word in ("HIGH", " 低 ", "medium")] == ["high", "low", "medium"]
    with pytest.raises(LocalLLMError) as error:
        todos.as_priority("urgent")
    assert key_of(error) == "memory_bad_kind"


def added(text: str, priority: Priority | None = None) -> str:
    """The line of the file that a task makes."""
    document, _ = todos.add(Document("## TODO\n"), text, priority, today=TODAY)
    return document.text.splitlines()[-1]


@each(
    ("text", "line"),
    [
        ("fix (high)", "- [ ] fix (high) +2026-11-22"),
        ("年次集計（高）", "- [ ] 年次集計 (high) +2026-11-22"),
        ("fix (medium)", "- [ ] fix +2026-11-22"),
        ("fix (low) (low)", "- [ ] fix (low) +2026-11-22"),
        ("Ship it +2026-01-05 (low)", "- [ ] Ship it (low) +2026-01-05"),
        ("Ship it (low) +2026-01-05", "- [ ] Ship it (low) +2026-01-05"),
        ("- [ ] foo bar", "- [ ] foo bar +2026-11-22"),
        ("- [~] foo (高)", "- [~] foo (high) +2026-11-22"),
        ("[x] foo", "- [x] foo +2026-11-22 ✓2026-11-22"),
        ("foo ✓2026-01-05", "- [x] foo +2026-01-05 ✓2026-01-05"),
        ("foo +2026-01-01 ✗2026-01-05", "- [-] foo +2026-01-01 ✗2026-01-05"),
        ("(high)", "- [ ] (high) +2026-11-22"),
        ("see f (x)", "- [ ] see f (x) +2026-11-22"),
    ],
)
def test_the_notation_of_the_file_in_a_task_is_understood(text: str, line: str) -> None:
    assert added(text) == line


def test_a_priority_said_twice_is_one_and_two_are_refused() -> None:
    assert added("fix (high)", "high") == "- [ ] fix (high) +2026-11-22"
    several: list[tuple[str, Priority | None]] = [
        ("fix (low)", "high"),
        ("fix (low)", "medium"),
        ("fix (low) (high)", None),
    ]
    for text, priority in several:
        with pytest.raises(LocalLLMError) as error:
            added(text, priority)
        assert key_of(error) == "memory_two_priorities"
        assert "low" in error.value.what


def test_what_an_open_item_is_said_to_be_in_a_task_it_becomes() -> None:
    document = Document("## TODO\n- [ ] foo (low) +2026-01-01\n")
    after, todo = todos.add(document, "- [x] foo (high)", today=TODAY)
    assert after.text == "## TODO\n- [x] foo (high) +2026-01-01 ✓2026-11-22\n"
    assert todo.state == "done"


@each(
    ("text", "line"),
    [
        ("bar", "- [ ] bar (low) +2026-01-01"),
        ("bar (high)", "- [ ] bar (high) +2026-01-01"),
        ("bar (medium)", "- [ ] bar +2026-01-01"),
        ("bar +2026-02-02", "- [ ] bar (low) +2026-02-02"),
        ("bar ✓2026-03-03", "- [x] bar (low) +2026-01-01 ✓2026-03-03"),
        ("[~] bar", "- [~] bar (low) +2026-01-01"),
        ("[x] bar", "- [x] bar (low) +2026-01-01 ✓2026-11-22"),
    ],
)
def test_the_notation_in_another_text_is_understood(text: str, line: str) -> None:
    document = Document("## TODO\n- [ ] foo (low) +2026-01-01\n")
    assert todos.set_text(document, "1", text, today=TODAY)[0].text == f"## TODO\n{line}\n"


@each(
    ("before", "text", "after"),
    [
        ("[x] foo ✓2026-01-01", "bar", "[x] bar ✓2026-01-01"),
        ("[x] foo ✓2026-01-01", "[x] bar", "[x] bar ✓2026-01-01"),
        ("[x] foo ✓2026-01-01", "bar ✓2026-03-03", "[x] bar ✓2026-03-03"),
        ("[x] foo ✓2026-01-01", "[ ] bar", "[ ] bar"),
        ("[x] foo ✓2026-01-01", "[-] bar", "[-] bar ✗2026-11-22"),
        ("foo", "bar\n  and\nmore", "bar and more"),
    ],
)
def test_another_text_changes_the_state_only_where_it_says_so(before: str, text: str, after: str) -> None:
    document = Document(f"## TODO\n- {before}\n")
    assert todos.set_text(document, "1", text, today=TODAY)[0].text == f"## TODO\n- {after}\n"


def test_an_item_without_a_mark_gets_that_of_the_last_item_that_has_one() -> None:
    document = Document("## TODO\n- [ ] a\n- 【予定】b\n- c\n")
    for wanted in "ac":
        document, _ = todos.set_state(document, wanted, "done", today=TODAY)
    assert document.text == "## TODO\n- [x] a ✓2026-11-22\n- 【予定】b\n- 【完了】c ✓2026-11-22\n"


@each(
    ("line", "plan", "after", "added"),
    [
        ("", "- [ ] a (high)\n  - how", "- [ ] a (high) +2026-11-22\n  - how", 1),
        ("", "- [~] a", "- [~] a +2026-11-22", 1),
        ("", "- [x] a", "", 0),
        ("- [ ] A", "- [~] a", "- [~] A", 0),
        ("- [ ] a", "- [x] a", "- [x] a ✓2026-11-22", 0),
        ("- [~] a", "- [-] a", "- [-] a ✗2026-11-22", 0),
        ("- [x] a", "- [ ] a", "- [x] a", 0),
        ("- [-] a", "- [~] a", "- [-] a", 0),
    ],
)
def test_a_plan_is_taken_over_but_not_what_the_user_has_finished(line: str, plan: str, after: str, added: int) -> None:
    document = Document(f"## TODO\n- [ ] z\n{line}\n")
    changed, count = todos.take_over(document, f"## TODO\n- [x] gone\n{plan}\n", today=TODAY)
    assert changed.text.rstrip("\n") == f"## TODO\n- [ ] z\n{after}".rstrip("\n")
    assert count == added


@each(
    ("content", "task"),
    [
        ("[ ] a (high)", ("a", "high")),
        (" [~] a", ("a", None)),
        ("a", ("a", None)),
        ("[x] a", None),
        ("a ✓2026-01-01", None),
        ("[ ]", None),
        ("", None),
    ],
)
def test_what_an_item_says_is_to_be_done(content: str, task: tuple[str, Priority | None] | None) -> None:
    assert todos.open_task(content) == task


LISTED = Document("## TODO\n- [~] 分類 を書く (高)\n- [ ] write docs +2026-01-01\n- [x] write docs for all\n")


@each(
    ("line", "number"),
    [
        ("{id}", 2),
        ("{id} write docs", 2),
        ("- {id} write docs", 2),
        ("- {id} (high) write docs", 2),
        ("- {id} (in progress, high) write docs", 2),
        ("- {id} wr…", 2),
        ("{id}: some other words", 2),
        ("  2  {id}  [ ] write docs", 2),
        ("To do: {id} write docs", 2),
        ("[todo 2026-01-01 {id}] write docs", 2),
        ("2. write docs", 2),
        ("[ ] write docs", 2),
        ("- [ ] write docs +2026-01-01", 2),
        ("- [~] 分類 を書く (高)", 1),
        ("- （進行中, 高） 分類 を書く", 1),
        ("[x] write docs for all", 3),
        ("２", 2),
        ("{start}", 2),
    ],
)
def test_a_line_that_a_list_shows_means_its_item(line: str, number: int) -> None:
    name = todos.todos(LISTED)[1].id
    assert todos.find(LISTED, line.format(id=name, start=name[:3])).number == number


def test_a_line_of_two_items_means_neither() -> None:
    name = todos.todos(LISTED)[0].id
    for line in (f"- {name} write docs", "1. write docs"):
        with pytest.raises(LocalLLMError) as error:
            todos.find(LISTED, line)
        assert key_of(error) == "memory_ambiguous"


@each(
    ("wanted", "near"),
    [("docs", "write docs"), ("writ dosc", "write docs"), ("分離を書く", "分類 を書く"), ("zzz", "")],
)
def test_what_is_near_is_named(wanted: str, near: str) -> None:
    with pytest.raises(LocalLLMError) as error:
        todos.find(LISTED, wanted)
    assert key_of(error) == "memory_unknown"
    assert near in error.value.why
    assert bool(error.value.why) == bool(near)


def test_one_with_details_is_another_than_an_open_one_of_its_text() -> None:
    document, todo = todos.add(Document("## TODO\n- [ ] fix\n"), "fix\n  with care", today=TODAY)
    assert document.text == "## TODO\n- [ ] fix\n- [ ] fix +2026-11-22\n  with care\n"
    assert (todo.number, todo.details) == (2, "  with care")
