"""Functions of a new program that do nothing are found; those that are meant to are not."""

from pathlib import Path

import pytest

from localllm.agent.checks.stub_functions import stub_lines
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

ALL_EMPTY = (
    'def add(t): pass\n\n\ndef list_():\n    """List them."""\n    ...\n\n\nif __name__ == "__main__":\n    pass\n'
)
ONE_RAISES = "def add(t):\n    print(t)\n\n\ndef done(t):\n    # TODO: implement\n    raise NotImplementedError\n"


@each(
    ("path", "text", "lines"),
    [
        ("todo.py", ALL_EMPTY, [1, 4]),
        ("todo.py", ONE_RAISES, [5]),
        ("todo.py", "class Todo:\n    def add(self):\n        raise NotImplementedError('later')\n", [2]),
        ("todo.py", "async def main():\n    pass\n", [1]),
        ("src/todo.rs", 'fn add(t: &str) {\n    todo!()\n}\n\nfn done() {\n    unimplemented!("later");\n}\n', [2, 6]),
        ("todo.ts", "function add() {\n  throw new Error('Not implemented');\n}\n", [2]),
        ("Todo.java", 'void add() {\n    throw new UnsupportedOperationException("later");\n}\n', [2]),
        ("todo.go", 'func add() {\n\tpanic("not implemented yet")\n}\n', [2]),
    ],
)
def test_a_stub(path: str, text: str, lines: list[int]) -> None:
    assert stub_lines(path, text) == lines


@each(
    ("path", "text"),
    [
        ("todo.py", "def add(t):\n    print(t)\n\n\ndef nothing():\n    pass\n"),
        (
            "todo.py",
            "class Shape:\n    def area(self):\n        raise NotImplementedError\n\n\nclass Box(Shape): ...\n",
        ),
        ("todo.py", "class Handler(Base):\n    def log_message(self, *args):\n        pass\n"),
        ("todo.py", "@click.group()\ndef cli():\n    pass\n"),
        ("todo.py", "class BaseStore:\n    def save(self):\n        raise NotImplementedError\n"),
        ("todo.py", "class Lost(Exception):\n    pass\n"),
        ("todo.py", "def add(t:\n    pass\n"),
        ("tests/test_todo.py", ALL_EMPTY),
        ("fakes.py", ALL_EMPTY),
        ("todo.py", "x = 'raise NotImplementedError'\n"),
        ("todo.ts", "if (!known) throw new Error('Not found');\nlog('throw new Error(\"Not implemented\")')\n"),
    ],
)
def test_what_is_none(path: str, text: str) -> None:
    assert stub_lines(path, text) == []


@pytest.mark.anyio
@each(
    ("request_", "answer", "is_asked"),
    [
        ("Write todo.py with commands add, list and done", "todo.py has the commands add, list and done.", True),
        ("add, list, done のコマンドを持つ todo.py を書いて", "add、list、done が使えます。", True),
        ("Write todo.py with empty functions add and list", "todo.py has add and list.", False),
        ("Write todo.py with commands add and list", "todo.py has both commands; they do nothing yet.", False),
        ("todo.py の骨組みを書いて", "骨組みを書きました。", False),
    ],
)
async def test_a_run_that_leaves_stubs_is_asked_about_them(
    tmp_path: Path, request_: str, answer: str, is_asked: bool
) -> None:
    turns = [call("write_file", file_path="todo.py", content=ALL_EMPTY), answer, answer, answer]
    root = tmp_path / str(len([*tmp_path.iterdir()]))
    root.mkdir()
    tools = make_tools(root, confirmer=HeadlessConfirmer(approve_all=True))
    agent = make_agent(scripted(*turns), root, tools=tools)
    await agent.execute_query(request_)
    asked = [one.text for one in agent.history.messages if "stands for what you did not write" in one.text]
    assert bool(asked) is is_asked
