"""A file without anything in it is not taken for one that was written."""

from pathlib import Path

import pytest

from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted

pytestmark = pytest.mark.anyio

TOUCHED = call("run_command", command="touch hello.py")
RUN = call("run_command", command="python3 hello.py")
WRITE = "Write hello.py that prints hello"


def written(path: str, content: str = "") -> dict[str, object]:
    return call("write_file", file_path=path, content=content)


async def asked(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[str, int]:
    tools = make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns, turns[-1], turns[-1], turns[-1]), folder, tools=tools)
    result = await agent.execute_query(request)
    said = [one.text for one in agent.history.messages if isinstance(one, UserMessage)]
    return result.status, sum(" is empty. " in one for one in said)


@pytest.mark.parametrize(
    ("request_", "turns", "answer"),
    [
        (WRITE, (written("hello.py"), RUN), "Created hello.py and ran it: it prints hello."),
        (WRITE, (TOUCHED, RUN), "Created hello.py and ran it: it prints hello."),
        ("hello を表示する hello.py を書いて", (written("hello.py", "\n"), RUN), "hello.py を作成し、実行しました。"),
        (
            "Create docs/notes.md with the goals of the project",
            (written("docs/notes.md"),),
            "docs/notes.md is written.",
        ),
    ],
)
async def test_it_is_asked_for(
    tmp_path: Path, request_: str, turns: tuple[dict[str, object], ...], answer: str
) -> None:
    assert await asked(tmp_path, request_, *turns, answer) == ("incomplete", 1)


@pytest.mark.parametrize(
    ("request_", "turns", "answer"),
    [
        (WRITE, (written("hello.py", "print('hello')\n"), RUN), "hello.py prints hello."),
        (WRITE, (written("hello.py"), written("hello.py", "print('hello')\n"), RUN), "hello.py prints hello."),
        ("Create the file marker.txt", (written("marker.txt"),), "Created marker.txt."),
        ("marker.txt というファイルを作成してください", (written("marker.txt"),), "marker.txt を作成しました。"),
        ("Create an empty file todo.md for my notes", (written("todo.md"),), "Created todo.md."),
        ("空の todo.md を docs に作って", (written("docs/todo.md"),), "docs/todo.md を作成しました。"),
        ("Make shop a package: add shop/__init__.py", (written("shop/__init__.py"),), "Added shop/__init__.py."),
        (WRITE, (written("hello.py"),), "hello.py is still empty: I do not know what to print."),
        ("Rename a.txt to b.txt in src", (written("a.txt"), call("run_command", command="mv a.txt b.txt")), "Renamed."),
        ("Keep the logs out of git but keep the folder", (written("logs/.gitkeep"),), "Added logs/.gitkeep."),
    ],
)
async def test_it_is_not_asked_for(
    tmp_path: Path, request_: str, turns: tuple[dict[str, object], ...], answer: str
) -> None:
    assert (await asked(tmp_path, request_, *turns, answer))[1] == 0
