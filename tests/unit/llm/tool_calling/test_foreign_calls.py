"""Calls as text that name other assistants' tools, or stand in unusual forms; and answers that only look like them."""

import json

import pytest

from localllm.llm.messages import CompletionRequest
from localllm.llm.providers.base import Chunk, FinishChunk, MessageAssembler, TextChunk
from localllm.llm.tool_calling.dialect import Reader
from localllm.llm.tool_calling.router import NativeDialect
from localllm.llm.tool_calling.text_dialect import TextDialect
from tests.support.answers import TOOLS

OFFERED = (
    "analyze_code",
    "edit_file",
    "git_commit",
    "list_files",
    "read_file",
    "run_command",
    "search_files",
    "write_file",
)
REQUEST = CompletionRequest(model="m", messages=(), tools=tuple(TOOLS[name] for name in OFFERED))

LS = {"command": "ls"}
A = {"file_path": "a.py"}
PATH = {"path": "a.py"}

CALLS: list[tuple[str, str, dict[str, str]]] = [
    ("<read_file>\n<path>a.py</path>\n</read_file>", "read_file", PATH),
    ("I'll read it.\n\n<read_file>\n<path>a.py</path>\n</read_file>", "read_file", PATH),
    (
        "<write_to_file>\n<path>a.py</path>\n<content>\nx\ny\n</content>\n</write_to_file>",
        "write_to_file",
        PATH | {"content": "x\ny"},
    ),
    (
        "<execute_command>\n<command>ls</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
        "execute_command",
        LS | {"requires_approval": "false"},
    ),
    ("Now the tests:\n\n<execute_command>\n<command>ls</command>\n</execute_command>\n", "execute_command", LS),
    (
        "<replace_in_file>\n<path>a.py</path>\n<diff>\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n</diff>\n"
        "</replace_in_file>",
        "replace_in_file",
        PATH | {"diff": "------- SEARCH\na\n=======\nb\n+++++++ REPLACE"},
    ),
    (
        "<attempt_completion>\n<result>\nDone.\n</result>\n</attempt_completion>",
        "attempt_completion",
        {"result": "Done."},
    ),
    ('```python\nread_file(file_path="a.py")\n```', "read_file", A),
    ('```python\nprint(read_file(file_path="a.py"))\n```', "read_file", A),
    ('```py\nread_file("a.py")\n```\n', "read_file", A),
    (
        '```json\n{\n  // what to read\n  "name": "read_file",\n  "arguments": {"file_path": "a.py"} // this\n}\n```',
        "read_file",
        A,
    ),
    ('```json\n// call\n{"name": "read_file", "arguments": {"file_path": "a.py"}}\n```', "read_file", A),
    ('{"name": /* which */ "read_file", "arguments": {"file_path": "a.py"}}', "read_file", A),
    ("```yaml\nname: read_file\narguments:\n  file_path: a.py\n```", "read_file", A),
    ("```yaml\ntool: bash\nargs:\n  command: ls\n```", "bash", LS),
    ("<tool_call>\nname: read_file\narguments:\n  file_path: a.py\n</tool_call>", "read_file", A),
    (
        "<tool_call>\nname: write_file\narguments:\n  file_path: a.py\n  content: |\n    x:\n      y\n\n    z\n"
        "</tool_call>",
        "write_file",
        A | {"content": "x:\n  y\n\nz\n"},
    ),
    ('```json\n{"name": "execute_command", "arguments": {"command": "ls"}}\n```', "execute_command", LS),
    ('{"name": "execute_command", "arguments": {"command": "ls"}}', "execute_command", LS),
    ('{"name": "bash", "arguments": {"cmd": "ls"}}\n', "bash", {"cmd": "ls"}),
    ('{"tool": "grep", "args": {"query": "x"}}', "grep", {"query": "x"}),
    ('{"name": "Grep", "arguments": {"pattern": "x", "-A": "5"}}', "Grep", {"pattern": "x", "-A": "5"}),
    (
        '{"name": "grep", "arguments": {"pattern": "x", "context": "2", "type": "py"}}',
        "grep",
        {"pattern": "x", "context": "2", "type": "py"},
    ),
    ('<think>Look.</think>\n{"name": "bash", "arguments": {"command": "ls"}}', "bash", LS),
    ('{"read_file": {"path": "a.py"}}', "read_file", PATH),
    ('{"tool": "read_file", "path": "a.py"}', "read_file", PATH),
    ('Thought: Look.\nAction: bash\nAction Input: {"command": "ls"}', "bash", LS),
    ("Action: bash\nAction Input: ls", "bash", LS),
    ('<execute_command>{"command": "ls"}</execute_command>', "execute_command", LS),
    ('<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>', "bash", LS),
    ("<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>", "bash", LS),
    ('[TOOL_CALLS]bash{"command": "ls"}', "bash", LS),
    ('execute_command(command="ls")', "execute_command", LS),
    ('```tool_code\nprint(bash(command="ls"))\n```', "bash", LS),
    (
        '{"name": "apply_patch", "arguments": {"patch": "*** Begin Patch\\n*** Delete File: a.py\\n*** End Patch"}}',
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"},
    ),
]

HONEST = [
    'You can read a file like this:\n\n```python\nread_file(file_path="a.py")\n```',
    '```python\nread_file(file_path="a.py")\n```\n\nThis calls the helper in `io.py`.',
    '```python\nread_file(file_path="a.py")\nprint("done")\n```',
    '```python\ntext = read_file(file_path="a.py")\n```',
    '```python\nwrite_file(path="a.py", text="x")\n```',
    '```python\nopen("a.txt")\n```',
    '```python\nexecute_command(command="ls")\n```\n\nThat is how the plugin is called.',
    'open("data.txt", "w")',
    'search("needle")\nfind("needle")',
    'The request looks like this:\n\n```json\n{"name": "search", "arguments": {"query": "x"}}\n```',
    '次のように呼び出します。\n\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
    '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```\n\nis what Claude Code sends.',
    '{"name": "bash", "arguments": {"command": "ls"}}\n\nis what Claude Code sends.',
    'It sends:\n\n{"name": "execute_command", "arguments": {"command": "rm -rf build"}}',
    '{"action": "create", "path": "a.txt", "content": "b"}',
    '{"action": "read", "parameters": {"path": "/etc/hosts"}}',
    '{"type": "find", "name": "search", "scripts": {"test": "jest"}}',
    '[{"name": "read_file", "description": "Read a file"}, {"name": "list_files", "description": "List files"}]',
    '{"list_files": {"description": "List files"}, "read_file": {"description": "Read a file"}}',
    '{"name": "bash", "arguments": {"description": "Run a command"}}',
    '{"name": "list_files", "explanation": "It lists files."}',
    '{"name": "grep", "description": "Search", "parameters": {"type": "object", "properties": {}}}',
    '```json\n{"name": "shell", "arguments": {"ttl": 5}}\n```',
    '```json\n[{"name": "read", "args": ["a"]}, {"name": "write"}]\n```',
    '```jsonc\n// settings\n{"name": "demo", "terminal": {"command": "ls"}}\n```',
    "```yaml\nname: Build\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n```",
    "Ansible has it so:\n\n```yaml\nname: shell\nargs:\n  command: ls\n```",
    "```yaml\n# compose\nservices:\n  web:\n    command: ls\n```",
    "```yaml\n- name: bash\n  run: ls\n```",
    "```yaml\nname: bash\n" + "".join(f"{' ' * n}a:\n" for n in range(400)) + "```",
    "<search>\n<query>x</query>\n</search>",
    "<edit>\n<path>a.py</path>\n</edit>",
    "Cline sends\n\n<execute_command>\n<command>npm test</command>\n</execute_command>\n\nand waits for the output.",
    "Cline sends:\n\n```xml\n<execute_command>\n<command>npm test</command>\n</execute_command>\n```",
    "A prompt looks like this:\n\nThought: I need data\nAction: search\nAction Input: weather\nObservation: sunny\n",
    "Action: open the file, then decide.",
    "Action: search\n\nWe decided this in the meeting.",
    "```bash\ngrep -rn needle .\n```",
    "Run these:\n\ngrep -rn needle .\nls -la\nbash run.sh\nopen index.html",
    "bash: npm: command not found\nview: templates/index.html\nedit: done",
    "execute_command(command) runs a shell command, write_to_file(path, content) writes a file.",
    "str_replace_editor is Anthropic's editor.\napply_patch is codex's.",
    "attempt_completion\n\nis how Cline ends a task.",
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF",
]


def read(reader: Reader, text: str, size: int) -> tuple[str, list[tuple[str, object]]]:
    """What is shown of an answer that comes `size` characters at a time, and its calls."""
    pieces: list[Chunk] = [TextChunk(text[start : start + size]) for start in range(0, len(text), size)]
    assembler = MessageAssembler()
    for chunk in [*pieces, FinishChunk("stop")]:
        for part in reader.feed(chunk):
            assembler.add(part)
    for part in reader.close():
        assembler.add(part)
    message = assembler.message()
    return message.text, [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(("text", "name", "arguments"), CALLS, ids=lambda value: str(value)[:40])
def test_it_is_a_call(text: str, name: str, arguments: dict[str, str], size: int) -> None:
    said, calls = read(NativeDialect().reader(REQUEST), text, size)
    assert calls == [(name, arguments)]
    assert said.strip() == text.partition("\n")[0] * text.startswith(("I'll", "Now", "Thought"))


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", HONEST, ids=lambda value: value[:40])
def test_it_is_an_answer(text: str, size: int) -> None:
    assert read(NativeDialect().reader(REQUEST), text, size) == (text, [])


def test_yaml_that_is_none_passes_from_its_first_line_on() -> None:
    reader = NativeDialect().reader(REQUEST)
    told = [*reader.feed(TextChunk("```yaml\nname: Build\n")), *reader.feed(TextChunk("on: push"))]
    assert "".join(chunk.text for chunk in told if isinstance(chunk, TextChunk)) == "```yaml\nname: Build\non: push"


def test_without_tools_nothing_is_a_call() -> None:
    request = CompletionRequest(model="m", messages=())
    for text, _, _ in CALLS[:4]:
        assert read(NativeDialect().reader(request), text, 7) == (text, [])


def test_a_name_counts_only_where_its_tool_is_offered() -> None:
    request = CompletionRequest(model="m", messages=(), tools=(TOOLS["read_file"],))
    text = '{"name": "bash", "arguments": {"command": "ls"}}'
    assert read(NativeDialect().reader(request), text, 7) == (text, [])


@pytest.mark.parametrize(
    "text", ['Action: bash\nAction Input: {"command": "ls"}', "Thought: Look.\nAction: bash\nAction Input: ls"]
)
def test_the_text_dialect_knows_them_too(text: str) -> None:
    assert read(TextDialect().reader(REQUEST), text, 7)[1] == [("bash", LS)]
