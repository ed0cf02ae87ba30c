"""An answer is compared with what the newest query printed."""

from pathlib import Path

import pytest

from localllm.agent.checks.query_checks import findings
from localllm.agent.checks.sql_queries import Query, query_of, single_number
from tests.support.agents import call, make_agent, scripted
from tests.support.each import each

ASKED = "What were the sales of Shibuya in 2024-01?"
JA = "渋谷の2024年1月の売上は?"


@each(
    ("output", "number"),
    [
        ("9900\n", 9900.0),
        ("sum(amount)\n9900\n", 9900.0),
        (" count \n-------\n     5\n(1 row)\n", 5.0),
        ("┌─────┐\n│ n   │\n├─────┤\n│ 1,200 │\n└─────┘\n", 1200.0),
        ("4220.5", 4220.5),
        ("-3", -3.0),
        ("", None),
        ("5\n7\n", None),
        ("a|5\n", None),
        ("2024-01\n", None),
        ("name|n\nx|5\n", None),
    ],
)
def test_a_single_number(output: str, number: float | None) -> None:
    assert single_number(output) == number


def names(
    request: str, output: str, answer: str, command: str = 'sqlite3 shop.db "select 1"', code: int = 0
) -> list[str]:
    query = query_of(command, code, output)
    assert query
    known = [request, output]
    return [one.name or "" for one in findings(query, query.every_row, request, answer, known)]


def of_command(request: str, command: str, output: str, answer: str) -> list[str]:
    query = query_of(command, 0, output, is_first=True)
    known = [request, output]
    return [str(one.reason) for one in findings(query, "", request, answer, known)]


COUNT = "How many tests are there?"
LINES = "How many lines has shop/cart.py?"
WC = "wc -l shop/cart.py"


@each(
    ("request_", "command", "output", "answer", "number"),
    [
        (LINES, WC, "24 shop/cart.py\n\n", "It has 40 lines.", "40"),
        ("shop/cart.py は何行?", WC, "24 shop/cart.py\n\n", "40行です。", "40"),
        (COUNT, "grep -c 'def test' tests/test_cart.py", "3\n", "There are 5 tests.", "5"),
        ("How many commits are there?", "git rev-list --count HEAD", "1\n", "There are 4 commits.", "4"),
        ("Which Python is it?", "python3 --version", "Python 3.11.7\n", "Python 3.8.10.", "3.8.10"),
        ("What does with_tax(100, 0.08) return?", "python3 -c 'p()'", "108.0\n", "It returns 108.8.", "108.8"),
        ("合計は何個?", "python3 -c 'p()'", "77\n", "75個です。", "75"),
    ],
)
def test_another_number_than_the_only_output(
    request_: str, command: str, output: str, answer: str, number: str
) -> None:
    assert [one.endswith(f"and the answer says {number}") for one in of_command(request_, command, output, answer)] == [
        True
    ]


@each(
    ("request_", "command", "output", "answer"),
    [
        (LINES, WC, "24 shop/cart.py\n\n", "It has 24 lines."),
        (LINES, WC, "24 shop/cart.py\n\n", "24 lines; 3 of them are empty."),
        (COUNT, "grep -c 'def test' tests/test_cart.py", "3\n", "Three, all in tests/test_cart.py:10."),
        (COUNT, "grep -c 'def test' tests/test_cart.py", "3\n", "テストは三つです。"),
        (COUNT, "ls tests", "a.py\nb.py\n", "There are 5 tests."),
        ("How many rows has data.csv?", "wc -l data.csv", "25 data.csv\n", "24 rows, without the header."),
        ("Which Python is it?", "python3 --version", "Python 3.11.7\n", "Python 3.11."),
        ("Which Python is it?", "python3 --version", "Python 3.11.7\n", "3.11.7; the project needs 3.8 or newer."),
        ("How large is it?", "stat -c %s a.bin", "1048576\n", "1 MB"),
        ("How large is it?", "stat -c %s a.bin", "1048576\n", "About 1.05 million bytes."),
        ("Does it work?", "python3 a.py", "42\n", "Yes, since Python 3.8."),
        ("What does it print?", "python3 a.py", "0.1234\n", "12.3 %"),
        ("What is the total with 10 % tax?", "python3 a.py", "100\n", "110"),
    ],
)
def test_the_only_output_in_another_form(request_: str, command: str, output: str, answer: str) -> None:
    assert of_command(request_, command, output, answer) == []


@pytest.mark.anyio
@pytest.mark.parametrize(("answer", "count"), [("There are 5 tests.", 1), ("There are 3 tests.", 0)])
async def test_a_run_of_one_command(tmp_path: Path, answer: str, count: int) -> None:
    turns = [call("run_command", command="echo 3"), *[answer] * 3]
    agent = make_agent(scripted(*turns), tmp_path)
    result = await agent.execute_query(COUNT)
    assert len([one for one in result.unverified if "printed 3" in str(one)]) == count


@each(
    ("request_", "output", "answer"),
    [
        (ASKED, "9200", "The sales of Shibuya in January 2024 were 9,200 yen."),
        (ASKED, "9200", "About 9.2 thousand yen."),
        (ASKED, "9200", "Roughly 9 thousand."),
        (ASKED, "12380", "12.4k yen"),
        (ASKED + " With 10 % tax?", "11200", "With tax 12,320 yen."),
        ("What share is done?", "0.1234", "12.3 % of the orders."),
        ("How many orders are there?", "5", "There are five orders; the newest is from March 2024."),
        ("How many are cancelled?", "0", "None of the 12 kinds is."),
        ("Are there more than 100 orders?", "42", "No, fewer than 100."),
        ("When was the last order?", "1700000000", "On 14 November 2023, at 22:13."),
        ("How long did it run?", "86400", "24 hours."),
        ("How long did it run?", "3725", "It ran for 1 h 2 min 5 s."),
        ("どれだけ動いた?", "3725", "1時間2分5秒です。"),
        ("How many users are there?", "42", "There are about 40 users."),
        ("ユーザーは何人?", "42", "約40人です。"),
        ("Is the table empty?", "5", "No, it is not."),
        (JA, "9200", "渋谷の2024年1月の売上は 9,200 円です(税込なら10,120円)。"),
        ("2024-03 の売上を万円で", "11200", "約1.1万円です。"),
        ("注文は何件?", "5", "五件です。"),
        ("注文は何件?", "0", "該当する注文はありません。"),
        ("平均は?", "4220.0", "平均は4,220円です。"),
        ("一覧は?", "渋谷|9200\n池袋|9900", "渋谷が9,200円、合計は19,100円です。"),
    ],
)
def test_what_the_query_printed_is_not_doubted(request_: str, output: str, answer: str) -> None:
    assert names(request_, output, answer) == []


@each(
    ("request_", "output", "answer"),
    [
        (ASKED, "11200", "The sales were 12,100 yen."),
        ("How many orders were cancelled?", "1", "3 orders were cancelled."),
        ("How many orders are there?", "5", "There are 300 orders."),
        (JA, "9900", "渋谷の2024年1月の売上は 12,900 円です。"),
        ("注文は何件ある?", "5", "300件あります。"),
    ],
)
def test_another_number_is(request_: str, output: str, answer: str) -> None:
    assert names(request_, output, answer) == ["other_number"]


ERROR = "Error: in prepare, no such column: amont"


@each(
    ("answer", "expected"),
    [
        ("The sales were 9,500 yen.", ["query_failed"]),
        ("売上は 9,500 円です。", ["query_failed"]),
        ('I could not find out: "no such column: amont".', []),
        ("クエリが失敗したため、売上は確認できませんでした。", []),
        ("There is no column `amont`; the name is `amount`.", []),
    ],
)
def test_an_answer_after_a_failed_query(answer: str, expected: list[str]) -> None:
    assert names(ASKED, ERROR, answer, 'sqlite3 shop.db "select sum(amont) from orders"', 1) == expected


@each(
    ("statement", "output", "answer", "expected"),
    [
        ("delete from o where s='x'; select changes()", "0", "All 3 orders were deleted.", ["no_rows"]),
        ("delete from o where s='x'; select changes()", "0", "注文をすべて削除しました。", ["no_rows"]),
        ("delete from o where s='x'; select changes()", "0", "No order was deleted.", []),
        ("delete from o where s='x'; select changes()", "0", "該当する注文はなく、削除は0件です。", []),
        ("delete from o where s='x'; select changes()", "1", "1 order was deleted.", []),
        ("delete from o; select changes()", "300", "The cancelled orders were deleted.", ["every_row"]),
        ("update o set s = 'done'", "", "Order 2 is done.", ["every_row"]),
    ],
)
def test_the_rows_that_a_statement_changed(statement: str, output: str, answer: str, expected: list[str]) -> None:
    assert names("Delete the cancelled ones", output, answer, f'sqlite3 shop.db "{statement}"') == expected


@each(
    "request_",
    [
        "Empty the table o",
        "Delete all o",
        "Set s to done in every order",
        "o を空にして",
        "o を全部消して",
        "o の全件を消して",
        "Cancel all orders",
        "Cancel all existing orders",
        "注文を全部消して",
        "全注文を取り消して",
        "すべての注文を取り消して",
    ],
)
def test_where_every_row_may_be_meant_nothing_is_said(request_: str) -> None:
    assert names(request_, "", "Done.", 'sqlite3 shop.db "delete from o"') == []


@each(
    "request_",
    [
        "Cancel all orders that are older than a year",
        "1年以上前の全注文を取り消して",
        "取り消し済みの注文だけをすべて消して",
        "安全に古い注文を消して",
        "cancelled の注文を全部消して",
        "キャンセルされた注文をすべて消して",
        "Delete all cancelled orders",
        "Remove all the old sessions",
    ],
)
def test_where_some_rows_are_meant_it_is_said(request_: str) -> None:
    assert names(request_, "", "Done.", 'sqlite3 shop.db "delete from o"') == ["every_row"]


@pytest.mark.anyio
async def test_the_model_is_told_once_and_the_user_at_last(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    query = call("run_command", command="sqlite3() { echo 9900; }; sqlite3 shop.db 'select sum(a) from o'")
    agent = make_agent(scripted(query, "They were 12,900 yen.", "They were 12,900 yen."), project)
    result = await agent.execute_query(ASKED)
    assert result.unverified == ("the query printed 9,900, and the answer says 12,900",)
    agent = make_agent(scripted(query, "They were 12,900 yen.", "They were 9,900 yen."), project)
    result = await agent.execute_query(ASKED)
    assert (result.answer, result.unverified) == ("They were 9,900 yen.", ())


def test_what_is_known_of_a_query() -> None:
    query = query_of("sqlite3 a.db 'UPDATE o SET x=1'", 0, "")
    assert query
    assert query.every_row == "UPDATE o"
    assert query_of("sqlite3 a.db 'select 1'", 1, "") == Query("sqlite3 a.db 'select 1'", "", "exit code 1")
