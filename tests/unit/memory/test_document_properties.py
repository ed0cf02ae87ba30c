"""Whatever stands in LOCALLLM.md, a change touches its own lines and no other byte, and is found again afterwards."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localllm.base.errors import LocalLLMError
from localllm.memory import notes, project_description, session_records, todos
from localllm.memory.document import Document
from localllm.memory.markdown_structure import lines_of, scan
from localllm.memory.session_records import SessionRecord

TODAY = date(2026, 11, 22)

LINES = (
    "",
    "   ",
    "text",
    "    indented",
    "\tindented by a tab",
    "## TODO",
    "# TODO履歴 #",
    "### Tasks",
    "## Decisions",
    "## 決定事項",
    "## Preferences",
    "## Session records",
    "## Something else",
    "# Title",
    "TODO",
    "====",
    "---",
    "+++",
    "```",
    "```python",
    "~~~~",
    "  ```",
    "<!--",
    "<!-- - [ ] a comment -->",
    "-->",
    "<details>",
    "<pre>",
    "</pre>",
    "- [ ] one",
    "- [x] two (high) +2026-01-02 ✓2026-01-03  ",
    "- [~] three\t",
    "- [完了] 四",
    "* 【予定】五",
    "+ plain",
    "1. [ ] numbered",
    "9) [-] dropped",
    "-",
    "- [ ]",
    "-     code",
    "  - [ ] nested",
    "  nested text",
    "  ## TODO",
    " - [X] one to the right",
    "> - [ ] quoted",
    "- [link](https://example.org)",
    "- 2026-01-02 decided",
    "- 2026-01-02 10:00 goal (20260102-100000-abcd)",
    "a\u2028b\x0bc\x0cd\x85e",
)
documents = st.builds(
    lambda mark, pairs, end: mark + "".join(line + newline for line, newline in pairs) + end,
    st.sampled_from(("", "\ufeff")),
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(("\n", "\n", "\n", "\r\n", "\r"))), max_size=24),
    st.sampled_from(("", "last", "## TODO", "- [ ] last")),
)
texts = st.sampled_from(
    ("Write the docs", "表を直す (高)", "first\nsecond\n\n    third\n```", "[x] odd", "1. one", "a `b` +c")
)

quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shared_ends(one: str, other: str) -> int:
    """How many characters are the same at the beginning and the end of two texts, together; none counted twice."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    return start + end


def raw_todos(document: Document) -> Counter[tuple[str, str, str, str]]:
    return Counter((todo.text, todo.state, todo.priority, todo.details) for todo in todos.todos(document))


def changed(document: Document, change: Callable[[], tuple[Document, object]]) -> Document | None:
    """What a change makes of it; None where it is refused."""
    try:
        return change()[0]
    except LocalLLMError:
        return None


@quick
@given(text=documents)
def test_every_line_is_in_one_block(text: str) -> None:
    lines = lines_of(text)
    assert "".join(lines) == text
    blocks = scan(lines)
    assert [line for block in blocks for line in range(block.start, block.end)] == list(range(len(lines)))


@quick
@given(text=documents, task=texts)
def test_adding_only_inserts(text: str, task: str) -> None:
    document = Document(text)
    after, todo = todos.add(document, task, today=TODAY)
    if after.text == text:
        assert todo.is_open
        return
    assert shared_ends(text, after.text) == len(text)
    assert raw_todos(after) - raw_todos(document) == Counter([(todo.text, todo.state, todo.priority, todo.details)])
    assert not raw_todos(document) - raw_todos(after)
    assert todos.find(after, todo.id) == todo


@quick
@given(text=documents, kind=st.sampled_from(("decisions", "preferences")))
def test_noting_only_inserts(text: str, kind: notes.NoteKind) -> None:
    after, note = notes.add(Document(text), kind, "Use msgspec", today=TODAY)
    assert shared_ends(text, after.text) == len(text)
    assert note in notes.notes(after, kind)


ANALYSIS: dict[project_description.SectionKind, tuple[str, ...]] = {
    "dna": ("- What it is: <!-- one line -->", "- Language: Python"),
    "folders": ("- src/ - source code", "  - src/a/ - more"),
    "style": ("- Python: tabs", "<!-- more -->"),
}
HEADED = st.sampled_from(("## Project DNA\n", "# コーディング規約\n\n", "### Folder structure\n- mine\n", ""))


@quick
@given(before=documents, headed=HEADED, after=documents, refresh=st.booleans())
def test_describing_only_inserts_and_a_second_time_does_nothing(
    before: str, headed: str, after: str, refresh: bool
) -> None:
    text = f"{before}\n{headed}{after}"
    document = Document(text)
    try:
        now, done = project_description.describe(document, ANALYSIS, {}, refresh=refresh)
    except LocalLLMError:
        return
    assert now.text.startswith("\ufeff") == text.startswith("\ufeff")
    was, rest = (iter(line.strip("\r\n\ufeff") for line in lines_of(one)) for one in (text, now.text))
    assert all(line in rest for line in was)
    assert raw_todos(now) == raw_todos(document)
    kept = (kind for kind in document.sections if kind not in done.added)
    assert all(now.body(kind) == document.body(kind) for kind in kept)
    assert project_description.describe(now, ANALYSIS, ANALYSIS, refresh=True)[0].text == now.text or not done.added


@quick
@given(text=documents)
def test_recording_only_inserts(text: str) -> None:
    when = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
    record = SessionRecord("20261122-140500-ab12", when, "goal", ("a",), ("b",), "c", ("d",), "e")
    after = session_records.put(Document(text), record)
    assert shared_ends(text, after.text) == len(text)
    assert session_records.recorded(after)[0].session_id == record.session_id
    assert session_records.put(after, record).text == after.text


@quick
@given(text=documents, data=st.data())
def test_a_state_changes_one_line(text: str, data: st.DataObject) -> None:
    document = Document(text)
    if not (known := todos.todos(document)):
        return
    wanted = data.draw(st.sampled_from(known))
    state = data.draw(st.sampled_from(("planned", "doing", "done", "dropped")))
    after, todo = todos.set_state(document, wanted.id, state, today=TODAY)
    assert (todo.state, todo.text, todo.id, todo.priority) == (state, wanted.text, wanted.id, wanted.priority)
    old, new = lines_of(text), lines_of(after.text)
    assert len(old) == len(new)
    assert sum(one != other for one, other in zip(old, new, strict=True)) <= 1
    for one, other in zip(todos.todos(document), todos.todos(after), strict=True):
        assert one in (other, wanted)


@quick
@given(text=documents, data=st.data())
def test_moving_keeps_every_line(text: str, data: st.DataObject) -> None:
    document = Document(text)
    if not (known := todos.todos(document)):
        return
    wanted = data.draw(st.sampled_from(known))
    to = data.draw(st.integers(1, len(known)))
    after = changed(document, lambda: todos.move(document, wanted.id, to))
    if after is None:
        return
    assert Counter(line.rstrip("\r\n") for line in lines_of(text)) == Counter(
        line.rstrip("\r\n") for line in lines_of(after.text)
    )
    assert Counter(todo.text for todo in todos.todos(after)) == Counter(todo.text for todo in known)
    assert todos.todos(after)[to - 1].text == wanted.text


def follows_indented(text: str, after: str) -> bool:
    """Whether an indented line stood behind what was removed."""
    end = next((at for at in range(len(after)) if after[-1 - at] != text[-1 - at]), len(after))
    return after[len(after) - end :].lstrip("\r\n")[:1] in (" ", "\t")


@quick
@given(text=documents, data=st.data())
def test_removing_only_deletes(text: str, data: st.DataObject) -> None:
    document = Document(text)
    if not (known := todos.todos(document)):
        return
    wanted = data.draw(st.sampled_from(known))
    after, todo = todos.remove(document, wanted.id)
    assert todo == wanted
    assert shared_ends(text, after.text) >= len(after.text) - 2  # the newline of another line may be the last now
    before, now = raw_todos(document), raw_todos(after)
    lost = before - now - Counter([(todo.text, todo.state, todo.priority, todo.details)])
    assert sum((before - now).values()) == 1 + sum(lost.values())
    if lost:  # an indented line behind it, which was below no item, is a detail of the item before from now on
        ((old, count),), ((grown, _),) = lost.items(), (now - before).items()
        assert (count, grown[:3]) == (1, old[:3])
        assert grown[3].startswith(old[3])
        assert follows_indented(text, after.text)


@pytest.mark.parametrize("count", [1, 60])
def test_a_text_given_back_is_stable(count: int) -> None:
    document = Document("")
    for number in range(count):
        document, _ = todos.add(document, f"task {number}", today=TODAY)
    assert Document(document.text).text == document.text
    assert len(todos.todos(document)) == count
