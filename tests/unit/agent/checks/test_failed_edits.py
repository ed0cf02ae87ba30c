"""An edit that failed, or was refused as outside of the project, is not taken for done."""

from pathlib import Path

import pytest

from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

WRITE = "Write hello.py that prints hello"
FIX = "Fix subtotal in shop/cart.py"
NEW = "return c.price * c.count"
INSIDE = call("edit_file", file_path="shop/cart.py", old_string="return c.price", new_string=NEW)
OUTSIDE = call("edit_file", file_path="/code/shop/cart.py", old_string="return c.price", new_string=NEW)
MISQUOTED = call("edit_file", file_path="shop/cart.py", old_string="return c.cost", new_string=NEW)
NO_IMPORT = call("edit_file", file_path="shop/cart.py", old_string="import os\nimport re\n", new_string="")
READ = call("read_file", file_path="shop/cart.py")
BY_COMMAND = call("run_command", command="echo 'print(1)' > hello.py")


def written(path: str) -> dict[str, object]:
    return call("write_file", file_path=path, content="print('hello')\n")


async def asked(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[str, int]:
    (folder / "shop").mkdir()
    (folder / "shop/cart.py").write_text("def subtotal(c):\n    return c.price\n")
    tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns, turns[-1], turns[-1]), folder, tools=tools)
    result = await agent.execute_query(request)
    said = [one.text for one in agent.history.messages if isinstance(one, UserMessage)]
    return result.status, sum("was not made" in one for one in said)


@pytest.mark.parametrize(
    ("request_", "turn", "answer"),
    [
        (WRITE, written("/code/hello.py"), "hello.py is written."),
        (WRITE, written("../hello.py"), "I created `hello.py`, which prints hello."),
        (WRITE, written("/app/hello.py"), "Done."),
        ("hello を表示する hello.py を書いて", written("/code/hello.py"), "hello.py を作成しました。"),
        (FIX, OUTSIDE, "Fixed: subtotal multiplies by count."),
        (FIX, MISQUOTED, "Fixed: subtotal multiplies by count."),
        ("Remove the unused imports from shop/cart.py", NO_IMPORT, "I removed the two unused imports."),
    ],
)
async def test_it_is_asked_for(tmp_path: Path, request_: str, turn: dict[str, object], answer: str) -> None:
    assert await asked(tmp_path, request_, turn, answer) == ("incomplete", 1)


@pytest.mark.parametrize(
    ("request_", "turns", "answer"),
    [
        (WRITE, (written("/code/hello.py"), written("hello.py")), "hello.py is written."),
        (WRITE, (written("/code/hello.py"), BY_COMMAND), "hello.py is written."),
        (WRITE, (written("/code/hello.py"),), "I could not write hello.py: /code is not in the project."),
        (
            "Write /etc/motd with hello",
            (written("/etc/motd"),),
            "/etc/motd is outside the project; I did not write it.",
        ),
        ("../memo.txt にメモを書いて", (written("../memo.txt"),), "プロジェクトの外なので、書いていません。"),
        (WRITE, (written("/code/hello.py"),), "I couldn't create hello.py there. Where should it go?"),
        (FIX, (INSIDE, written("/tmp/check.py")), "Fixed: subtotal multiplies by count. I ran nothing."),
        (FIX, (MISQUOTED, READ), "`subtotal` already returns the price, so no change is needed."),
        (FIX, (READ, MISQUOTED, READ), "subtotal は既に正しく、変更は不要です。"),
        ("Remove the unused imports from shop/cart.py", (READ, NO_IMPORT), "There are no unused imports in it."),
        ("Explain shop/cart.py", (written("/code/notes.md"),), "subtotal returns the price."),
    ],
)
async def test_it_is_not_asked_for(
    tmp_path: Path, request_: str, turns: tuple[dict[str, object], ...], answer: str
) -> None:
    assert await asked(tmp_path, request_, *turns, answer) == ("done", 0)


async def test_that_nothing_is_needed_is_doubted_where_the_file_was_not_read_again(tmp_path: Path) -> None:
    answer = "subtotal multiplies by count already."
    assert await asked(tmp_path, FIX, READ, MISQUOTED, answer) == ("done", 1)
