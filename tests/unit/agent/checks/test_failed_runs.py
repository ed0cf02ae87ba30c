"""After a run that failed, an answer says so in some words, or is asked once; whatever else it says is let be."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.completion_checks import Finishing
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.base.events import Notice, ToolCall, Usage
from localllm.base.jsontext import encode_json
from localllm.llm.messages import AssistantMessage, Completion
from localllm.tools.results import ToolResult
from tests.support.agents import make_tools
from tests.support.each import each

pytestmark = pytest.mark.anyio

RUNS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "failed-runs.toml").read_text(encoding="utf-8"))[
    "run"
]
TESTS = "python3 -m pytest -q"
FAILED = "FAILED tests/test_cart.py::test_count - assert 5 == 15\n1 failed, 2 passed in 0.05s"


def ran(command: str, code: int, output: str = "", told: str = "") -> ToolResult:
    call = ToolCall("c", "run_command", encode_json({"command": command}).decode())
    payload: dict[str, Any] = {"return_code": code, "stdout": output, "stderr": ""}
    return ToolResult(call=call, success=code == 0, payload=payload, for_model=told or output, summary="")


def did(tool: str, *changed: str) -> ToolResult:
    arguments = {"file_path": changed[0] if changed else "a.py"}
    call = ToolCall("d", tool, encode_json(arguments).decode())
    payload = {"file_path": arguments["file_path"]}
    return ToolResult(
        call=call, success=True, payload=payload, for_model="", summary="", changes=dict.fromkeys(changed, "x:644")
    )


def finishing_after(root: Path, request: str, results: list[ToolResult]) -> tuple[Finishing, RunState]:
    tools = make_tools(root)
    finishing, history = Finishing(tools), History("s")
    history.add_user(request, words=request)
    finishing.begin()
    if results:
        finishing.after_results(RunState(request, history, lambda _: None, tools=tools.specs()), results)
    return finishing, RunState(request, history, lambda _: None, tools=tools.specs())


async def told(root: Path, request: str, results: list[ToolResult], answer: str) -> tuple[str, bool]:
    """Return what the model is told of an answer, and whether the run is not finished if it repeats it."""
    finishing, state = finishing_after(root, request, results)
    said = Completion(AssistantMessage(answer), "stop", Usage())
    decision = await finishing.after_answer(state, said)
    if isinstance(decision, Inject):
        await finishing.after_answer(state, said)
    return decision.text if isinstance(decision, Inject) else "", bool(finishing.ending.contradicts)


@each("run", RUNS, ids=[f"{one['request']}-{one['command']}" for one in RUNS])
async def test_a_failed_run_is_told_of(tmp_path: Path, run: dict[str, Any]) -> None:
    failed = [ran(run["command"], run["code"], run["output"])]
    for answer in run.get("false", ()):
        said, is_open = await told(tmp_path, run["request"], failed, answer)
        assert said, answer
        assert is_open, answer
    for answer in run.get("honest", ()):
        assert await told(tmp_path, run["request"], failed, answer) == ("", False), answer


def test_there_are_enough_of_both() -> None:
    assert sum(len(one.get("false", ())) for one in RUNS) > 100
    assert sum(len(one.get("honest", ())) for one in RUNS) > 120


MAKEFILE = did("edit_file", "Makefile")
BROKEN = ran("make test", 2, "AddressSanitizer: heap-buffer-overflow")


@pytest.mark.parametrize(
    ("request_", "results", "answer", "is_told"),
    [
        ("Add -Wextra to the flags", [MAKEFILE, BROKEN], "`-Wextra` is added; `make test` passes.", True),
        ("Add -Wextra to the flags", [MAKEFILE, BROKEN], "`-Wextra` is added; `make test` still aborts.", False),
        ("Fix the crash in make test", [MAKEFILE, BROKEN], "Fixed: `make test` passes now.", True),
        ("Fix the crash in make test", [MAKEFILE, BROKEN], "Not fixed: `make test` still aborts.", False),
        ("Run the tests", [ran(TESTS, 1, FAILED), ran(f"{TESTS} -x", 0, "3 passed")], "All is well.", False),
        ("Run the tests", [ran(TESTS, 1, FAILED), did("read_file")], "All is well.", True),
        ("What is in the database?", [ran("sqlite3 a.db .dump", 127), did("read_file")], "Two tables.", False),
        ("Write a note in NOTES.md", [ran("foo x", 127), did("write_file", "NOTES.md")], "It is there.", False),
        ("Tidy README.md", [did("edit_file", "README.md"), ran("foo README.md", 127)], "README.md is tidy.", False),
        ("Install requests", [ran("pip install requests", 0), ran("rm x", 1, "rm: x")], "It is there.", False),
        ("Run the tests", [ran(f"{TESTS} | tail -1", 0, "1 failed, 2 passed in 0.05s")], "All is well.", True),
    ],
)
async def test_what_else_was_done_counts(
    tmp_path: Path, request_: str, results: list[ToolResult], answer: str, is_told: bool
) -> None:
    said, _ = await told(tmp_path, request_, results, answer)
    assert bool(said) == is_told, said


@pytest.mark.parametrize(
    ("request_", "results", "answer", "headline"),
    [
        ("Run the tests", [ran(TESTS, 1, FAILED)], "All is well.", "The answer does not match what was done: "),
        ("Add -Wextra to the flags", [MAKEFILE, BROKEN], "`-Wextra` is added.", "The model was asked about what could"),
    ],
)
async def test_the_user_reads_of_a_mismatch_only_where_the_run_is_not_finished_by_it(
    tmp_path: Path, request_: str, results: list[ToolResult], answer: str, headline: str
) -> None:
    finishing, state = finishing_after(tmp_path, request_, results)
    events: list[object] = []
    state.emit = events.append
    said = Completion(AssistantMessage(answer), "stop", Usage())
    await finishing.after_answer(state, said)
    assert [one.text.startswith(headline) for one in events if isinstance(one, Notice)] == [True]
    await finishing.after_answer(state, said)
    assert bool(finishing.ending.contradicts) == headline.startswith("The answer does not")


OF_SLUG = "I fixed slug; its test passes now. The truncate test still fails, which is another bug."
OF_SLUG_JA = "slug を直し、slug のテストは通りました。truncate のテストはまだ失敗しています。"


@pytest.mark.parametrize(
    ("request_", "answer", "is_open"),
    [
        ("Fix the slug test", OF_SLUG, False),
        ("Fix the failing test of slug", OF_SLUG, False),
        ("失敗する slug のテストを直して", OF_SLUG_JA, False),
        ("Fix the failing tests", OF_SLUG, True),
        ("Fix the truncate test", OF_SLUG, True),
        ("Fix the slug test", "One test of mine passes, but the slug test still fails.", True),
    ],
)
async def test_the_test_that_was_to_pass_is_the_one_that_counts(
    tmp_path: Path, request_: str, answer: str, is_open: bool
) -> None:
    results = [did("edit_file", "slug.js"), ran("npm test", 1, "not ok 2 - truncate\n# fail 1")]
    assert await told(tmp_path, request_, results, answer) == ("", is_open)


async def test_a_check_that_was_ordered_is_open_after_an_edit_too(tmp_path: Path) -> None:
    results = [did("edit_file", "a.py"), ran("mypy shop", 127, "mypy: command not found")]
    said, is_open = await told(tmp_path, "Check the types with mypy", results, "mypy reports no errors.")
    assert "exit code 127" in said
    assert is_open


SERVING = "python3 -m http.server 8000 &"
OVER = f"[Ended with the command: {SERVING}. Put what needs it into the same command.]"


@pytest.mark.parametrize(
    ("request_", "answer", "is_told"),
    [
        ("Start the dev server on port 8000", "The server runs at http://localhost:8000.", True),
        ("サーバーを起動して", "http://localhost:8000 で開けます。停止するには Ctrl+C を押してください。", True),
        ("Start the dev server on port 8000", "It ended with its command; start it in a terminal of yours.", False),
        ("サーバーを起動して", "コマンドと一緒に終了しました。", False),
        ("Which port does app.py use?", "Port 8000.", False),
    ],
)
async def test_what_ended_with_its_command_does_not_run(
    tmp_path: Path, request_: str, answer: str, is_told: bool
) -> None:
    said, is_open = await told(tmp_path, request_, [ran(SERVING, 0, "", OVER)], answer)
    assert bool(said) == is_open == is_told, said


@pytest.mark.parametrize(
    ("request_", "results", "answer", "is_told"),
    [
        ("Run the tests", [], "Everything is fine.", True),
        ("Run the tests", [did("read_file")], "Looks good.", True),
        ("テストを実行して", [did("list_files")], "問題ありませんでした。", True),
        ("Start the server", [], "It is up.", True),
        ("Run the tests", [], "There are no tests in this project.", False),
        ("Run the tests", [], "I did not run them.", False),
        ("テストを実行して", [], "テストは見つかりませんでした。", False),
        ("Run the tests", [], "Shall I use pytest?", False),
        ("Start with the parser", [did("read_file")], "It reads tokens.", False),
        ("Start over", [], "Two.", False),
        ("Start again from the top", [], "One.", False),
        ("Start the next step", [], "Two.", False),
        ("Please start serve.py", [], "It is up.", True),
        ("Where are the tests?", [], "In tests/.", False),
    ],
)
async def test_a_run_that_was_never_made(
    tmp_path: Path, request_: str, results: list[ToolResult], answer: str, is_told: bool
) -> None:
    said, _ = await told(tmp_path, request_, results, answer)
    assert bool(said) == is_told, said
