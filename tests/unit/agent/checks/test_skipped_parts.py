"""Parts of a request that a run has skipped are found: files to be read, items to be noted, content to be written."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.completion_checks import Finishing
from localllm.agent.checks.skipped_parts import unnoted_items, unread_files, unread_source
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.base.errors import SafetyViolationError
from localllm.base.events import ToolCall, Usage
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, Completion, Message, ToolMessage
from localllm.tools.results import ToolResult
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio

MERGE = "a.csv、b.csv、c.json を一つの clean.csv にまとめて"
DONE = "a.csv、b.csv、c.json の3ファイルを clean.csv にまとめました。"


def did(name: str, result: str, **arguments: str) -> list[Message]:
    one = ToolCall(name, name, encode_json({**arguments}).decode())
    return [AssistantMessage("", tool_calls=(one,)), ToolMessage(name, name, result)]


WRITTEN = did(
    "write_file", "Created clean.py (1 line).", file_path="clean.py", content="for row in open('a.csv'): print(row)"
)
RUN = did("run_command", "6", command="python3 clean.py")


@each(
    ("request_", "messages", "answer", "unread"),
    [
        (MERGE, [*WRITTEN, *RUN], DONE, ["b.csv", "c.json"]),
        (MERGE, [*did("list_files", "a.csv b.csv c.json", path="."), *WRITTEN, *RUN], DONE, ["b.csv", "c.json"]),
        (MERGE, [*did("run_command", "a.csv b.csv c.json", command="ls"), *WRITTEN], DONE, ["b.csv", "c.json"]),
        ("Compare a.csv and b.csv", did("read_file", "x", file_path="a.csv"), "a.csv has more than b.csv.", ["b.csv"]),
        ("Compare a.csv and b.csv", did("read_file", "x", file_path="a.csv"), "I did not read b.csv.", []),
        ("Compare a.csv and b.csv", did("run_command", "x", command="head *.csv"), "a.csv is longer than b.csv.", []),
        ("Compare a.csv and b.csv", did("run_command", "a.csv: 3\nb.csv: 4", command="./count"), "b.csv > a.csv", []),
        ("Compare a.csv and b.csv", did("run_command", "x", command="python3 old.py"), "b.csv beats a.csv.", []),
        ("Compare a.csv and b.csv", did("run_command", "x", command="make"), "b.csv has more than a.csv.", []),
        ("Compare a.csv and b.csv", did("run_command", "x", command="tail -n 3 * | cat"), "b.csv beats a.csv.", []),
        ("Compare a.csv and b.csv", did("explore", "Both are of 3 rows."), "b.csv is as long as a.csv.", []),
        ("Review a.csv and old.py", did("read_file", "import old", file_path="a.csv"), "a.csv, old.py: fine.", []),
        (
            "Merge a.csv and b.csv",
            did("write_file", "Created", file_path="m.py", content="for n in ['a', 'b']: open(n + '.csv')"),
            "a.csv and b.csv are merged.",
            [],
        ),
        ("Delete a.csv and b.csv", did("run_command", "", command="rm [ab].csv"), "a.csv and b.csv are gone.", []),
        (MERGE, [*WRITTEN, *RUN], "a.csv だけまとめました。b.csv と c.json は読んでいません。", []),
        ("Compare a.csv and gone.csv", did("read_file", "x", file_path="a.csv"), "a.csv has more than gone.csv.", []),
    ],
)
def test_files_that_nothing_read(
    tmp_path: Path, request_: str, messages: list[Message], answer: str, unread: list[str]
) -> None:
    for name in ("a.csv", "b.csv", "c.json", "old.py"):
        (tmp_path / name).write_text("x\n")
    assert unread_files(request_, answer, messages, tmp_path, {"clean.py", "clean.csv"}) == unread


HINTS = "- f に型ヒントを付ける"
BOTH = "「f に型ヒントを付ける」と「README を書く」"
TODO = f"TODO に{BOTH}を追加して"


@each(
    ("request_", "answer", "noted", "missing"),
    [
        (TODO, f"{BOTH}を追加しました。", HINTS, ["README を書く"]),
        (TODO, "「READMEを書く」も追加しました。", HINTS, ["README を書く"]),
        (TODO, "「f に型ヒントを付ける」を追加しました。", HINTS, []),
        (TODO, "「README を書く」も追加しました。", f"{HINTS}\n- READMEを書く", []),
        (TODO, "「README を書く」も追加しました。", "- 型ヒント\n- 説明書", []),
        ("「f に型」と「README を書く」をして", "「README を書く」も済みました。", "- f に型", []),
        (
            'Add "Write the docs" and "Fix the CI" to the TODO list',
            'Added "Write the docs" and "Fix the CI".',
            "- Write the docs",
            ["Fix the CI"],
        ),
    ],
)
def test_items_that_were_not_noted(request_: str, answer: str, noted: str, missing: list[str]) -> None:
    assert unnoted_items(request_, answer, noted) == missing


SQL = "INSERT INTO users VALUES (1, 'a');\n-- ... (残り98件も同様)\n"
WRITE = "100人分のテストデータを users.sql に保存して"


@each(
    ("request_", "content", "answer", "told"),
    [
        (WRITE, SQL, "100人分のテストデータを users.sql に保存しました。", True),
        (WRITE, SQL, "users.sql には1件だけ書き、残り98件は省略しました。", False),
        (WRITE, "INSERT INTO users VALUES (1, 'a');\n", "100人分のテストデータを users.sql に保存しました。", False),
        ("users.sql の雛形を作って", SQL, "users.sql を保存しました。", False),
    ],
)
async def test_a_placeholder_is_asked_about(
    tmp_path: Path, request_: str, content: str, answer: str, told: bool
) -> None:
    turns = [call("write_file", file_path="users.sql", content=content), *[answer] * 3]
    root = tmp_path / str(len([*tmp_path.iterdir()]))
    root.mkdir()
    confirmer = HeadlessConfirmer(approve_all=True)
    agent = make_agent(scripted(*turns), root, tools=make_tools(root, confirmer=confirmer))
    result = await agent.execute_query(request_)
    assert result.status == "done"
    asked = [one.text for one in agent.history.messages if "stands for what you did not write" in one.text]
    assert bool(asked) is told


REFUSED = ToolResult(
    call=ToolCall("c", "run_command", '{"command": "awk 1 app.log"}'),
    success=False,
    payload={},
    for_model="",
    summary="",
    error=SafetyViolationError("denied_unattended", name="run_command"),
)
LISTED = ToolResult(call=ToolCall("l", "list_files", "{}"), success=True, payload={}, for_model="", summary="")
INVENTED = "11 of 400 lines are errors, and the median is 44 ms."


@each(
    ("results", "answer", "told"),
    [
        ([REFUSED], INVENTED, True),
        ([REFUSED, LISTED], INVENTED, False),
        ([REFUSED], "I could not run awk on the 400 lines: allow it, or see line 3.", False),
        ([REFUSED], "Run `awk '{print $2, $3}' app.log`, which prints the rates.", False),
    ],
)
async def test_numbers_after_refused_calls(tmp_path: Path, results: list[ToolResult], answer: str, told: bool) -> None:
    tools = make_tools(tmp_path)
    finishing, history = Finishing(tools), History("s")
    request = "What is the error rate of app.log?"
    history.add_user(request, words=request)
    state = RunState(request, history, lambda _: None, tools=tools.specs())
    finishing.after_results(state, results)
    said: Any = Completion(AssistantMessage(answer), "stop", Usage())
    decision = await finishing.after_answer(state, said)
    assert (isinstance(decision, Inject) and "You have read nothing" in decision.text) == told


TABLE = did("write_file", "Created API.md (3 lines).", file_path="API.md", content="| add | name, price |")
TO_CSV = "概要.md の表を CSV にして 予定.csv に保存して"
CSV = did("write_file", "Created 予定.csv (2 lines).", file_path="予定.csv", content="1月,設計")


@each(
    ("request_", "messages", "written", "source"),
    [
        ("Write the functions of cart.py as a table into API.md", TABLE, "API.md", "cart.py"),
        ("Document cart.py in API.md", TABLE, "API.md", "cart.py"),
        ("Convert cart.py to API.md", [*did("list_files", "cart.py", path="."), *TABLE], "API.md", "cart.py"),
        (TO_CSV, CSV, "予定.csv", "概要.md"),
        (TO_CSV, [*did("read_file", "| 月 | 作業 |", file_path="概要.md"), *CSV], "予定.csv", ""),
        (TO_CSV, [*did("run_command", "| 月 | 作業 |", command="cat *.md"), *CSV], "予定.csv", ""),
        ("Document cart.py in API.md", [*did("search_files", "cart.py:1: def", query="def"), *TABLE], "API.md", ""),
        ("Write a test for cart.py into API.md", TABLE, "API.md", ""),
        ("Put a link to cart.py into API.md", TABLE, "API.md", ""),
        ("Write in API.md that cart.py is old", TABLE, "API.md", ""),
        ("API.md に cart.py へのリンクを書いて", TABLE, "API.md", ""),
        ("Document cart.py in API.md", TABLE, "other.md", ""),
    ],
)
def test_a_source_of_which_nothing_was_read(
    tmp_path: Path, request_: str, messages: list[Message], written: str, source: str
) -> None:
    for name in ("cart.py", "概要.md"):
        (tmp_path / name).write_text("x")
    assert unread_source(request_, messages, tmp_path, set(), {written}) == source
