"""What an edit has written is looked at once, in the result of the edit."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.llm.messages import ToolMessage
from tests.support.agents import call, make_agent, scripted

pytestmark = pytest.mark.anyio

CODE = "def f(x):\n    return x + 1\n"
READ = call("read_file", file_path="a.py")
FROM = "Write it in "


def docstring(text: str) -> dict[str, Any]:
    return call("edit_file", file_path="a.py", old_string="def f(x):", new_string=f'def f(x):\n    """{text}"""')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(CODE)
    return folder


def remarks(agent: ReActAgent) -> list[str]:
    results = [one.text for one in agent.history.messages if isinstance(one, ToolMessage)]
    return [line for text in results for line in text.splitlines() if FROM in line]


@pytest.mark.parametrize(
    ("request_", "text", "meant"),
    [
        ("a.py の f に docstring を付けて", "将 x 加一并返回。", "Japanese"),
        ("a.py の f に日本語の docstring を付けて", "Add one to x.", "Japanese"),
        ("Add an English docstring to f in a.py", "x に 1 を足す。", "English"),
    ],
)
async def test_text_in_the_wrong_language_is_said_once(project: Path, request_: str, text: str, meant: str) -> None:
    again = call("write_file", file_path="b.py", content=f'"""{text}"""\n')
    agent = make_agent(scripted(READ, docstring(text), again, "終わりました。"), project)
    await agent.execute_query(request_)
    said = remarks(agent)
    assert len(said) == 1
    assert said[0].startswith("[a.py now has text in ")
    assert text.rstrip("。.") in said[0]
    assert said[0].endswith(f"{FROM}{meant}.]")


async def test_where_the_wanted_text_was_written_other_files_may_be_in_another_language(project: Path) -> None:
    test = call("write_file", file_path="test_a.py", content='def test_f():\n    """Check that one is added."""\n')
    agent = make_agent(scripted(READ, docstring("1 を足す。"), test, "付けました。"), project)
    await agent.execute_query("a.py の f に日本語の docstring を付けて、テストも書いて")
    assert remarks(agent) == []


async def test_lines_that_were_there_are_not_taken_for_new_ones(project: Path) -> None:
    (project / "a.py").write_text("# 返回 x 加一的结果\n" + CODE)
    edit = call("edit_file", file_path="a.py", old_string=CODE, new_string=CODE.replace("1", "2"))
    agent = make_agent(scripted(call("run_command", command="true"), READ, edit, "直しました。"), project)
    await agent.execute_query("a.py の f が 2 を足すように直して")
    assert remarks(agent) == []
