"""Session records: at most eight lines each, one for a session, old ones folded, what a person wrote in them kept."""

from datetime import UTC, datetime, timedelta

import pytest

from localllm.memory import session_records
from localllm.memory.document import Document
from localllm.memory.session_records import LISTED, WHOLE, SessionRecord, fold, put, recorded

START = datetime(2026, 1, 30, 9, 0, tzinfo=UTC)


def record(number: int, goal: str = "goal") -> SessionRecord:
    when = START + timedelta(days=number)
    return SessionRecord(
        f"{when:%Y%m%d-%H%M%S}-ab{number % 100:02}", when, goal, ("d1", "d2", "d3"), ("r",) * 5, "a.py"
    )


def history(count: int, text: str = "") -> Document:
    document = Document(text)
    for number in range(count):
        document = put(document, record(number, f"goal {number}"))
    return document


def test_how_a_record_reads() -> None:
    assert put(Document("## セッション記録\n"), record(0, "直す\n全部")).text == (
        "## セッション記録\n\n- 2026-01-30 09:00 直す 全部 (20260130-090000-ab00)\n  - 決定: d1\n  - 決定: d2 (+1)\n"
        "  - 変更: a.py\n  - 結果: r\n  - 結果: r\n  - 結果: r (+2)\n"
    )


def test_what_went_wrong_is_not_called_done() -> None:
    broken = SessionRecord("20260130-090000-abcd", START, "goal", failed=("`make`",), broken_off="the last request")
    lines = "  - failed: `make`\n  - broken off: the last request\n"
    assert put(Document(""), broken).text.endswith(lines)
    assert put(Document("## セッション記録\n"), broken).text.endswith("  - 失敗: `make`\n  - 中断: the last request\n")


def test_no_record_is_longer_than_eight_lines() -> None:
    many = SessionRecord(
        "20260130-090000-abcd", START, "長" * 500, ("d\ne",) * 9, ("r" * 500,) * 9, "c", ("f",) * 9, "b"
    )
    [item] = put(Document(""), many).items("sessions")
    assert len(item.lines) == 8
    assert max(map(len, item.lines)) < 220


def test_nothing_to_say() -> None:
    [known] = recorded(put(Document(""), SessionRecord("20260130-090000-abcd", START, " \n", ("", "--"))))
    assert known.goal == "(no goal)"
    assert known.text.count("\n") == 0


def test_one_record_for_a_session() -> None:
    document = history(3)
    again = put(document, record(1, "another goal"))
    assert [known.goal for known in recorded(again)] == ["goal 2", "another goal", "goal 0"]
    assert put(again, record(1, "another goal")).text == again.text


def test_of_one_minute_the_later_one_is_the_newest() -> None:
    first, second = (SessionRecord(f"20260130-09000{number}-abcd", START, f"goal {number}") for number in (1, 2))
    assert [known.goal for known in recorded(put(put(Document(""), first), second))] == ["goal 2", "goal 1"]


def test_old_records_are_folded() -> None:
    document = history(75)
    items = document.items("sessions")
    known = recorded(document)
    assert len(known) == LISTED
    assert sum(len(item.lines) > 1 for item in items) == WHOLE
    assert [len(item.lines) > 1 for item in items[-WHOLE:]] == [True] * WHOLE
    assert known[0].goal == "goal 74"
    assert [item.content.strip() for item in items[:2]] == ["2026-01: 2 sessions", "2026-02: 23 sessions"]
    assert fold(document).text == document.text


def test_many_old_records_are_folded_at_once_whatever_their_order() -> None:
    items = history(10).text.split("\n- ")[1:]
    for number in range(10, 13):
        items.append(put(Document(""), record(number, f"goal {number}")).text.split("\n- ")[1])
    items = [item.rstrip("\n") for item in items]
    folded = [item if number > 2 else item.partition("\n")[0] for number, item in enumerate(items)]
    for order in (1, -1):
        text = "## Session records\n\n- " + "\n- ".join(items[::order])
        assert fold(Document(text)).text == "## Session records\n\n- " + "\n- ".join(folded[::order])


def test_the_file_stops_growing() -> None:
    sizes = [len(history(count).text) for count in (60, 120)]
    assert sizes[1] - sizes[0] < 300


def test_the_newest_first_where_the_file_has_it_so() -> None:
    text = (
        "## Session records\n- 2026-01-02 09:00 b (20260102-090000-abcd)\n- 2026-01-01 09:00 a (20260101-090000-abcd)\n"
    )
    document = history(70, text)
    items = [item.content.strip() for item in document.items("sessions")]
    assert items[0].startswith("2026-04-09 09:00 goal 69")
    assert items[-2:] == ["2026-02: 18 sessions", "2026-01: 4 sessions"]


def test_what_a_person_wrote_is_not_folded() -> None:
    document = history(2)
    mine = document.text.replace("  - done: r\n", "  - done: r\n    - my own thought\n", 1)
    mine = mine.replace("## Session records\n\n", "## Session records\n\n- 2020-01-01 met Bob\n- 2020: 5 things\n")
    document = Document(mine)
    for number in range(2, 80):
        document = put(document, record(number))
    for line in ("    - my own thought\n", "- 2020-01-01 met Bob\n", "- 2020: 5 things\n"):
        assert line in document.text
    again = put(document, record(0, "changed"))
    assert "changed" in again.text
    assert "my own thought" in again.text


def test_removing_by_session_or_id() -> None:
    document = history(3)
    [newest, middle, _] = recorded(document)
    document = session_records.remove(session_records.remove(document, newest.session_id), middle.id)
    assert [known.goal for known in recorded(document)] == ["goal 0"]
    assert session_records.remove(document, "unknown") is document


def test_what_a_merge_has_doubled_is_one_again() -> None:
    document = put(Document(""), record(0))
    twice = Document(document.text + document.text.partition("records\n\n")[2])
    assert [known.session_id for known in recorded(twice)] == [record(0).session_id] * 2
    assert put(twice, record(0)).text == document.text
    written = Document(twice.text + "  - mine\n")
    assert len(recorded(put(written, record(0)))) == 2


def test_english_labels_in_a_japanese_file_are_ours() -> None:
    english = put(Document("## Session records\n"), record(0)).text
    japanese = Document(english.replace("## Session records", "## 決定事項\n\n## セッション記録"))
    assert put(japanese, record(0)).text.endswith("  - 結果: r (+2)\n")
    assert "decided" not in put(japanese, record(0)).text


RECORDS = """## Session records

- 2026-01-01 10:00 Fix the login (20260101-100000-abcd)
  - done: {done}
- 2026-01-02 10:00 What is this? (20260102-100000-abcd)
  - done: A shop.
"""


@pytest.mark.parametrize("done", ["`pytest` passed\n  - decided: no", "x\n  - changed: a", "x\n  - mine: y"])
def test_the_last_session_is_the_last_one_of_work_whoever_wrote_it(done: str) -> None:
    told = session_records.last(Document(RECORDS.format(done=done)))
    assert told is not None
    assert told.goal == "Fix the login"


def test_where_nothing_was_done_the_newest_is_the_last() -> None:
    told = session_records.last(Document(RECORDS.format(done="It is a shop.")))
    assert told is not None
    assert told.goal == "What is this?"
    assert session_records.last(Document("")) is None


def test_a_resumed_session_is_not_its_own_last_one() -> None:
    document = Document(RECORDS.format(done="It is a shop."))
    newest, *older = session_records.recorded(document)
    assert session_records.last(document, newest.session_id) == older[0]
    assert session_records.last(document, "other") == newest
