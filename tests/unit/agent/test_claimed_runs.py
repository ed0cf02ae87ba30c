"""An answer that claims a run, or that a program works, is compared with the commands that were run."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from localllm.agent.checks.completion_checks import Finishing
from localllm.agent.history import History
from localllm.agent.middleware import Inject, RunState
from localllm.agent.phrases.claimed_runs import claims_deed, claims_look, claims_run, claims_works
from localllm.base.events import ToolCall, Usage
from localllm.llm.messages import AssistantMessage, Completion
from localllm.tools.results import ToolResult
from tests.support.agents import make_tools
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    ("answer", "claims"),
    [
        ("実行しました。サーバーが 8000 番で起動しました。", True),
        ("I ran it; the output is: done", True),
        ("I have executed backup.sh. It printed 3.", True),
        ("Ran the script: all is well.", True),
        ("backup.sh を走らせました。", True),
        ("検索を実行しました。", False),
        ("ruff を実行しましたが、問題はありませんでした。", True),
        ("ruff を実行しようとしましたが、実行していません。", False),
        ("I ran a search for it.", False),
        ("I ran grep for `half` over the project.", False),
        ("10:00 に起動し、10:01 にインポートを実行しました。", False),
        ("0.0.0.0:80 で起動しました。", True),
        ("ログによると、バックアップを実行しました。", False),
        ("I ran into a problem.", False),
        ("It was run by cron.", False),
        ("If I ran it, it would print 3.", False),
        ("I ran through the possible causes.", False),
        ("I started with a.py and followed its imports.", False),
        ("I started reading at main().", False),
        ("I ran `git_diff` and saw two changes.", False),
        ("実行していません。", False),
        ("You ran the tests.", False),
    ],
)
def test_a_claimed_run(answer: str, claims: bool) -> None:
    assert claims_run(answer) == claims


@each(
    ("answer", "claims"),
    [
        ("正しく起動しました。", True),
        ("問題なく動作しています。", True),
        ("The server works.", True),
        ("It ran without errors.", True),
        ("app.py starts successfully.", True),
        ("It does not work.", False),
        ("It works if x is set.", False),
        ("正しく起動しません。", False),
        ("This is how it is done.", False),
    ],
)
def test_a_program_that_is_said_to_work(answer: str, claims: bool) -> None:
    assert claims_works(answer) == claims


@each(
    ("answer", "claims"),
    [
        ("I installed `requests`.", True),
        ("requests をインストールしました。", True),
        ("requests is now installed.", True),
        ("requests is not installed.", False),
        ("pandas is installed.", True),
        ("pip is installed, but there is no network.", False),
        ("インストールできませんでした。", False),
    ],
)
def test_what_is_said_to_be_installed(answer: str, claims: bool) -> None:
    assert claims_deed("install", answer) == claims


@each(
    ("answer", "claims"),
    [
        ("I searched the whole project for it.", True),
        ("I've read all the files.", True),
        ("I checked `a.py`, and it is fine.", True),
        ("コードを確認しましたが、問題ありません。", True),
        ("プロジェクト全体を検索したところ、ありませんでした。", True),
        ("I can search the project for you.", False),
        ("Shall I say that I read the files?", False),
        ("The project reads two files.", False),
        ("コードを確認してください。", False),
    ],
)
def test_a_claimed_look(answer: str, claims: bool) -> None:
    assert claims_look(answer) == claims


def ran(command: str, code: int, output: str = "") -> ToolResult:
    call = ToolCall("c", "run_command", f'{{"command": "{command}"}}')
    payload: dict[str, Any] = {"return_code": code, "stdout": "", "stderr": output}
    return ToolResult(call=call, success=code == 0, payload=payload, for_model=output, summary="")


LISTED = ToolResult(call=ToolCall("l", "list_files", "{}"), success=True, payload={}, for_model="app.py", summary="")
MISSING = ran("python3 appp.py", 2, "python3: can't open file 'appp.py': No such file or directory")
NO_NETWORK = ran("pip install requests", 1, "ERROR: No matching distribution found for requests")
NOT_THERE = ran("rm old.txt", 1, "rm: cannot remove 'old.txt': No such file or directory")
NOT_READ = ran("sed -n 1,9p b.py; tar tf b.tgz", 2, "tar: b.tgz: Cannot open: No such file or directory")
NOT_MOVED = ran("mv b.py lib", 1, "mv: cannot stat 'b.py': No such file or directory")
NO_ZIP = ran("zip -r ab.zip .", 127, "zip: command not found")
NO_ANSWER = ran("curl localhost:1", 7, "curl: (7) Failed to connect")
NO_DOCKER = ran("docker compose up -d", 1, "Cannot connect to the Docker daemon")
NO_LIST = ran("tar tf b.tgz", 2, "tar: b.tgz: Cannot open: No such file or directory")
EDITED = ToolResult(
    call=ToolCall("e", "edit_file", '{"file_path": "notes.txt"}'),
    success=True,
    payload={"file_path": "notes.txt"},
    for_model="",
    summary="",
    changes={"notes.txt": "x:644"},
)
NO_CURL = ran("curl -sO http://x/a.csv", 6, "curl: (6) Could not resolve host: x")
NO_BLACK = ran("python3 -m black .", 1, "No module named black")
BEGUN = msgspec.structs.replace(ran("python3 app.py", 0), payload={"return_code": None, "id": 1}, success=True)
RUN = "app.py を実行して結果を教えて"


@pytest.mark.parametrize(
    ("request_", "results", "answer", "told", "contradicts"),
    [
        (RUN, [LISTED], "実行しました。サーバーが起動しました。", "No command was run", True),
        ("What does app.py print", [LISTED], "I ran it; it prints 3.", "No command was run", False),
        (RUN, [ran("python3 app.py", 0)], "実行しました。", "", False),
        (RUN, [LISTED], "実行していません。", "", False),
        ("Start app.py", [BEGUN], "I started it: it listens on port 8000.", "", False),
        (
            "app.py を起動して動くか確かめて",
            [MISSING],
            "正しく起動しました。",
            "last run failed: python3 appp.py",
            True,
        ),
        ("app.py を起動して動くか確かめて", [MISSING], "起動に失敗しました。", "", False),
        ("install requests", [NO_NETWORK], "I installed `requests`.", "last run failed: pip install requests", True),
        ("install requests", [ran("pip install requests", 0), NOT_THERE], "I installed `requests`.", "", False),
        ("install requests", [NO_NETWORK, ran("mkdir x", 0)], "I installed `requests`.", "failed: pip install", True),
        ("直近のコミットで何が変わった?", [NOT_READ], "直近のコミットでは parse を追加しました。", "", False),
        ("直近のコミットで何が変わった?", [NOT_MOVED], "直近のコミットでは parse を追加しました。", "", False),
        ("整理だ。b.py は lib へ", [NOT_MOVED], "b.py を lib へ移動しました。", "last run failed: mv b.py lib", True),
        ("format the code with black", [NO_BLACK], "All files are formatted with black now.", "-m black", True),
        ("pack the project", [NO_ZIP], "The project is packed into `ab.zip`.", "zip -r ab.zip", True),
        ("zip に固めて", [NO_ZIP], "zip に固めました。", "zip -r ab.zip", True),
        ("zip に固めて", [NO_ZIP], "zip が無いため固めていません。", "", False),
        ("zip に固めて", [NO_ZIP, ran("python3 -m zipfile -c a.zip .", 0)], "zip に固めました。", "", False),
        ("download http://x/a.csv", [NO_CURL, ran("cp /mnt/a.csv .", 0)], "a.csv is downloaded.", "", False),
        ("Copy a.py, and check the server", [NO_ANSWER, ran("cp a.py b.py", 0)], "I copied a.py to b.py.", "", False),
        ("How is the app started?", [NO_DOCKER], "The app is started by entrypoint.sh.", "", False),
        ("Start the app", [NO_DOCKER], "The app is running.", "last run failed: docker compose up", True),
        ("install requests", [ran("pip install requests", 0), NO_LIST], "I installed `requests`.", "", False),
        ("install requests", [NO_NETWORK, ran("tar xf a.tgz", 0)], "I installed `requests`.", "pip install", True),
        ("format the code with black", [NO_BLACK, EDITED], "The code was formatted.", "", False),
        ("download http://x/a.csv", [NO_CURL], "a.csv is downloaded.", "curl -sO", True),
        ("download http://x/a.csv", [NO_CURL], "It could not be downloaded: no network.", "", False),
        ("format the code with black", [NO_BLACK], "The code was formatted.", "-m black", True),
        ("format it if black is there", [NO_BLACK], "black is not installed, so I did nothing.", "", False),
        ("install requests", [NO_NETWORK], "I could not install `requests`: there is no network.", "", False),
        (
            "引数がないと終了コード 2 で終わるか確かめて",
            [ran("python3 cli.py", 2, "usage: cli.py N")],
            "引数なしでは終了コード 2 で終わります。正しく動作しています。",
            "",
            False,
        ),
        ("app.py を起動して動くか確かめて", [MISSING, ran("python3 app.py", 0)], "正しく起動しました。", "", False),
        ("Is grep here?", [ran("rg x", 1)], "It works well.", "", False),
    ],
)
async def test_what_was_run_is_compared_with_it(
    tmp_path: Path, request_: str, results: list[ToolResult], answer: str, told: str, contradicts: bool
) -> None:
    tools = make_tools(tmp_path)
    finishing, history = Finishing(tools), History("s")
    history.add_user(request_, words=request_)
    state = RunState(request_, history, lambda _: None, tools=tools.specs())
    finishing.begin()
    finishing.after_results(state, results)
    said = Completion(AssistantMessage(answer), "stop", Usage())
    decision = await finishing.after_answer(state, said)
    assert isinstance(decision, Inject) == bool(told)
    assert not isinstance(decision, Inject) or told in decision.text
    await finishing.after_answer(state, said)
    assert bool(finishing.ending.contradicts) == contradicts
