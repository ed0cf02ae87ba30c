"""Calls that an answer writes out in prose, Python or a list are made; what is shown to the user is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.written_calls import written_calls
from localllm.config.schema import SafetySettings
from localllm.llm.messages import ToolSpec
from tests.support.agents import Answering, make_agent, make_tools, scripted
from tests.support.each import each

EDIT = ToolSpec(
    "edit_file",
    "Edit.",
    {
        "properties": {"file_path": {"type": "string"}, "old_string": {"type": "string"}, "new_string": {}},
        "required": ["file_path", "old_string", "new_string"],
    },
)
RUN = ToolSpec("run_command", "Run.", {"properties": {"command": {"type": "string"}}, "required": ["command"]})
ARGUMENTS = {"file_path": "a.py", "old_string": "x+1", "new_string": "x+2"}
PYTHON = '```python\nedit_file("a.py", "x+1", "x+2")\n```'
JSON = json.dumps(ARGUMENTS)
FOREIGN = '{"name": "str_replace", "arguments": {"path": "a.py", "old_str": "x+1", "new_str": "x+2"}}'
LISTED = "- file_path: a.py\n- old_string: x+1\n- new_string: `x+2`"


def announces(said: str) -> bool:
    return said.startswith("I will")


@each(
    "text",
    [
        f"以下のように edit_file を呼び出します。\n{PYTHON}",
        f"I call edit_file now:\n{PYTHON}",
        f"I will change it:\n\n{PYTHON}",
        PYTHON,
        '```py\nedit_file("a.py", old_string="x+1", new_string="x+2")\n```',
        f"```\nprint({PYTHON[10:-4]})\n```",
        f"Tool: edit_file\nArguments:\n{JSON}",
        f"**Tool:** `edit_file`\n**Arguments:**\n```json\n{JSON}\n```",
        f"I will edit it.\nTool name: edit_file\nParameters: {JSON}",
        f"ツール: edit_file\n引数: {JSON}",
        f"**edit_file**\n{LISTED}",
        f"I will edit it:\n\nedit_file:\n{LISTED}\n",
    ],
)
def test_a_call(text: str) -> None:
    calls = written_calls(text, [EDIT, RUN], announces)
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("edit_file", ARGUMENTS)]


@each(
    "text",
    [
        f"You can call it like this:\n{PYTHON}",
        f"例えば次のように使います。\n{PYTHON}",
        f"{PYTHON}\nThis replaces x+1.",
        f"The bug is in a.py.\nIt adds 1.\n{PYTHON}",
        '```python\nedit_file("a.py")\n```',
        '```python\nopen("a.py", "w")\n```',
        '```python\nresult = edit_file("a.py", "x+1", "x+2")\nprint(result)\n```',
        "```python\ndef edit_file(path, old, new):\n    return 1\n```",
        f"Tool: edit_file\nArguments:\n{JSON}\nThat is all.",
        "Tool: edit_file\nArguments:\n{}",
        "edit_file:\n- file_path: the file to edit\n- old_string: the text\n- bold: yes",
        "The tool edit_file edits a file.",
    ],
)
def test_what_is_none(text: str) -> None:
    assert list(written_calls(text, [EDIT, RUN], announces)) == []


@each("name", ["Bash", "bash", "execute_command", "shell"])
@each("form", ["I will run it.\n```json\n{}\n```", "I will run it.\n\n{}", "実行します:\n```\n{}\n```"])
def test_another_assistants_name_in_json(name: str, form: str) -> None:
    call = json.dumps({"name": name, "arguments": {"command": "npm test"}})
    (made,) = written_calls(form.replace("{}", call), [EDIT, RUN], announces)
    assert (made.name, json.loads(made.arguments)) == ("run_command", {"command": "npm test"})


@each(
    "text",
    [
        'Claude Code would send this:\n```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```',
        'I will run it.\n{"name": "Bash", "arguments": {"command": "ls"}}\nThen I look at it.',
        'I will write it.\n```json\n{"name": "shop", "version": "1.0.0"}\n```',
        'I will run it.\n{"name": "Bash", "arguments": {"speed": 3}}',
    ],
)
def test_json_that_is_no_call(text: str) -> None:
    assert list(written_calls(text, [EDIT, RUN], announces)) == []


@pytest.mark.anyio
@each(
    ("request_", "said", "content"),
    [
        ("Make f add 2", f"I will edit it.\n```json\n{FOREIGN}\n```", "x+2"),
        ("f が 2 を足すようにして", f"以下のように edit_file を呼び出します。\n{PYTHON}", "x+2"),
        ("Make f add 2", f"Tool: edit_file\nArguments:\n{JSON}", "x+2"),
        ("How do I call edit_file to make f add 2?", f"I call edit_file now:\n{PYTHON}", "x+1"),
    ],
)
async def test_it_is_run(tmp_path: Path, request_: str, said: str, content: str) -> None:
    (tmp_path / "a.py").write_text("def f(x): return x+1\n")
    confirmer: Any = Answering(approve=True)
    confirmer.answers = "yes"
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings())
    await make_agent(scripted(said, "Done.", "Done.", "Done."), tmp_path, tools=tools).execute_query(request_)
    assert (tmp_path / "a.py").read_text() == f"def f(x): return {content}\n"


def test_it_takes_time_that_grows_with_the_text() -> None:
    for text in (
        "- a" * 100_000,
        "edit_file(" * 50_000,
        "Tool: edit_file\n{" * 30_000,
        "edit_file\n" + "- a: b\n" * 50_000,
        '"name"' + "{" * 100_000,
        '"name"\n' + "{}\n" * 50_000,
    ):
        assert list(written_calls(text, [EDIT], announces)) == []
