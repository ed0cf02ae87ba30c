"""Explicit instructions, and what is missing in them."""

import pytest

from localllm.lookup.orders import Order, order_in
from tests.support.each import each


@each(
    ("text", "order"),
    [
        ("run the tests", Order(kind="tests")),
        ("テストを実行してください", Order(kind="tests")),
        ("run the tests with `make check`", Order(kind="tests", text="make check")),
        ('run "make lint"', Order(kind="run", text="make lint")),
        ("run make lint", Order(kind="run", text="make lint")),
        ("`ls -la` を実行して", Order(kind="run", text="ls -la")),
        ("run the command", Order(kind="run")),
        (
            'create a file notes/a.txt with the content "buy milk"',
            Order(kind="create", path="notes/a.txt", text="buy milk"),
        ),
        ("create a.py with:\n```python\nx = 1\n```", Order(kind="create", path="a.py", text="x = 1")),
        ("hello.txt を作って。内容は「こんにちは」", Order(kind="create", path="hello.txt", text="こんにちは")),
        ("メモ.txt を作成して。内容は「あ」", Order(kind="create", path="メモ.txt", text="あ")),
        ('create "my notes.txt" with the content "x"', Order(kind="create", path="my notes.txt", text="x")),
        ("create an empty file a.txt", Order(kind="create", path="a.txt", text="")),
        ("create a.txt", Order(kind="create", path="a.txt")),
        ('replace "a b" with "c" in x.py', Order(kind="replace", path="x.py", old="a b", text="c")),
        ("x.py の「foo」を「bar」に置き換えて", Order(kind="replace", path="x.py", old="foo", text="bar")),
        ('replace "a" with "b"', Order(kind="replace", old="a", text="b")),
        ('append "x = 1" to a.py', Order(kind="append", path="a.py", text="x = 1")),
        ("README.md の末尾に「MIT」という行を追加して", Order(kind="append", path="README.md", text="MIT")),
        ('commit with the message "Fix"', Order(kind="commit", text="Fix")),
        ("「直した」というメッセージでコミットして", Order(kind="commit", text="直した")),
        ('commit everything: "Fix"', Order(kind="commit", text="Fix")),
        ('add "x" to a.txt and commit', Order(kind="several")),
    ],
)
def test_orders(text: str, order: Order) -> None:
    assert order_in(text) == order


@pytest.mark.parametrize(
    "text",
    [
        "how do I run the tests?",
        "テストを実行するには？",
        "where is the file created?",
        "設定を変更する処理はどこ？",
        "what changed in the last commit?",
        "add a test for the parser",
        'insert "x" at the top of a.py',
        "delete line 3 of a.txt",
        "rename foo to bar in a.py",
        "fix the bug in a.py",
        "write a poem",
        "Change the greeting in hello.py",
    ],
)
def test_what_is_no_order(text: str) -> None:
    assert order_in(text) is None


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ('hello.py というファイルを作って。内容は print("やあ") です', 'print("やあ")'),
        ('Create notes.md with the content: say "hello" twice', 'say "hello" twice'),
        ("メモ.txt を作って。内容は「買い物」にしてください", "買い物"),
    ],
)
def test_content_may_hold_quotes_of_its_own(request_: str, text: str) -> None:
    order = order_in(request_)
    assert order is not None
    assert (order.kind, order.text) == ("create", text)
