"""Arguments brought into the form their tool reads."""

import msgspec

from localllm.llm.tool_calling.arguments import coerce, settle
from tests.support.answers import TOOLS
from tests.support.each import each


@each(
    ("tool", "given", "wanted"),
    [
        ("read_file", '{"file_path": "a"}', '{"file_path": "a"}'),
        ("read_file", '"{\\"file_path\\": \\"a\\"}"', '{"file_path":"a"}'),
        ("read_file", "{'file_path': 'a', }", '{"file_path":"a"}'),
        ("read_file", '[{"file_path": "a"}]', '{"file_path":"a"}'),
        ("read_file", '"a b.txt"', '{"file_path":"a b.txt"}'),
        ("git_status", "null", "{}"),
        ("git_status", "", ""),
        ("read_file", '{"file_path": "a', '{"file_path": "a'),
        ("write_file", '"a b.txt"', '"a b.txt"'),
        ("git_log", '"3"', '"3"'),
        ("read_file", "[1, 2]", "[1, 2]"),
        ("read_file", "12", "12"),
    ],
)
def test_what_a_tool_is_given(tool: str, given: str, wanted: str) -> None:
    assert settle(given, TOOLS[tool]) == wanted


@each(
    ("written", "text"),
    [
        (
            r"\\title{A}\n\begin{a}\n\textbf{b} \ref{c}\n\end{a}",
            "\\title{A}\n\\begin{a}\n\\textbf{b} \\ref{c}\n\\end{a}",
        ),
        (r"\frac{1}{2} \nabla x", r"\frac{1}{2} \nabla x"),
        (r"re.compile(r'\b(foo)\b')", r"re.compile(r'\b(foo)\b')"),
        (r"grep '\bfoo\b", r"grep '\bfoo\b"),
        (r"\\b \\frac \\\\n", r"\b \frac \\n"),
        (r"$\theta \times \tau$, \\tau$", r"$\theta \times \tau$, \tau$"),
        (r"printf '\rDone'", r"printf '\rDone'"),
        (r"a\r\nb\r\n", "a\r\nb\r\n"),
        (r"a\tname\text\n\tau := 1\n\timestamp\n\newer\nu)", "a\tname\text\n\tau := 1\n\timestamp\n\newer\nu)"),
        (r"(provide 'a)\n\f\n(defun b ()", "(provide 'a)\n\f\n(defun b ()"),
        (r"\u0041 \"b\" \/", 'A "b" /'),
    ],
)
def test_backslashes_that_were_not_doubled(written: str, text: str) -> None:
    given = f'{{"file_path": "a", "content": "{written}"}}'
    assert msgspec.json.decode(settle(given, TOOLS["write_file"])) == {"file_path": "a", "content": text}


@each(
    ("given", "command"),
    [
        ("ls -la", "ls -la"),
        ("$ ls -la", "ls -la"),
        ("ls | awk '{print $1}'", "ls | awk '{print $1}'"),
        ('echo \'{"command": "ls"}\' > a.json', 'echo \'{"command": "ls"}\' > a.json'),
        ("FOO=1 make test", "FOO=1 make test"),
        ("command: ls -la", "ls -la"),
        ('command: "ls -la"', "ls -la"),
        ("cmd: 'ls -la'", "ls -la"),
        ("command=ls", "ls"),
        ("{command: ls -la}", "ls -la"),
        ('{"command": ls -la}', "ls -la"),
        ("{command: awk '{print $1}' a}", "awk '{print $1}' a"),
        ("```bash\nls -la\n```", "ls -la"),
        ("```\ncommand: ls\n```", "ls"),
        ("```sh\ncd src\nls\n```\n", "cd src\nls"),
    ],
)
def test_a_command_that_is_no_json_is_read_where_it_can_mean_nothing_else(given: str, command: str) -> None:
    assert msgspec.json.decode(settle(given, TOOLS["run_command"])) == {"command": command}


@each(
    "given",
    [
        "List all the files.",
        "List all files",
        "ls -la\n\nThis lists the files",
        "command: ls\ntimeout: 5",
        "{command: ls, timeout: 5}",
        '{"command": "ls}',
        '{"command": "grep "foo" a.py"}',
        'command: "ls',
        "working_dir: src",
        "<command>ls</command>",
        '"ls',
        '(command="ls"',
        "```bash\nls\n```\nThen look at it.",
        "ファイルを一覧する",
        "none",
        "12",
        "true",
        "",
        "   ",
        "```\n\n```",
        "```\ncommand: ls\ntimeout: 5\n```",
    ],
)
def test_what_may_be_something_else_than_a_command_stays_as_it_is(given: str) -> None:
    settled = settle(given, TOOLS["run_command"])
    assert settled == given or "command" not in msgspec.json.decode(settled)


def test_plain_text_is_no_argument_where_the_answer_was_cut_or_more_are_needed() -> None:
    assert settle("rm -r build/ol", TOOLS["run_command"], closes=False) == "rm -r build/ol"
    assert settle("a.py", TOOLS["write_file"]) == "a.py"
    assert settle("a.py", TOOLS["read_file"]) == "a.py"
    assert settle("path: src/a.py", TOOLS["read_file"]) == '{"file_path":"src/a.py"}'


def test_arguments_of_a_tool_nobody_knows_are_mended_only() -> None:
    assert settle("{'a': '3', 'b': None}", None) == '{"a":"3","b":null}'


def test_brackets_stay_open_where_the_answer_was_cut() -> None:
    assert settle('{"file_path": "a"', TOOLS["read_file"], closes=False) == '{"file_path": "a"'


@each(
    ("tool", "given", "wanted"),
    [
        ("read_file", {"arguments": {"file_path": "a"}}, {"file_path": "a"}),
        ("read_file", {"input": '{"file_path": "a"}'}, {"file_path": "a"}),
        ("read_file", {"name": "read_file", "parameters": {"args": {"file_path": "a"}}}, {"file_path": "a"}),
        ("read_file", {"path": "a"}, {"path": "a"}),
        ("read_file", {"file_path": "a", "end_line": None}, {"file_path": "a"}),
        ("read_file", {"file_path": "a", "end_line": "null", "encoding": ""}, {"file_path": "a", "encoding": ""}),
        ("read_file", {"file_path": None}, {"file_path": None}),
        ("read_file", {"file_path": 7, "end_line": " 3 "}, {"file_path": "7", "end_line": "3"}),
        ("write_file", {"file_path": "a", "content": {"a": 1}}, {"file_path": "a", "content": {"a": 1}}),
        ("write_file", {"file_path": "a", "content": ""}, {"file_path": "a", "content": ""}),
        ("git_commit", {"message": "x", "files": '["a", "b"]'}, {"message": "x", "files": ["a", "b"]}),
        ("git_commit", {"message": "x", "files": "['a']"}, {"message": "x", "files": ["a"]}),
        ("git_commit", {"message": "x", "files": "a"}, {"message": "x", "files": ["a"]}),
        ("list_files", {"recursive": "Yes"}, {"recursive": True}),
        ("list_files", {"recursive": "perhaps"}, {"recursive": "perhaps"}),
    ],
)
def test_coercion(tool: str, given: dict[str, object], wanted: dict[str, object]) -> None:
    assert coerce(given, TOOLS[tool].parameters) == wanted


def test_an_object_where_an_object_is_wanted() -> None:
    parameters = {
        "properties": {"a": {"type": "object"}, "b": {"type": "array", "items": {"type": "object"}}},
        "required": ["a"],
    }
    assert coerce({"a": '{"k": 1}', "b": {"k": 2}}, parameters) == {"a": {"k": 1}, "b": [{"k": 2}]}
    assert coerce({"a": "k"}, parameters) == {"a": "k"}


def test_large_numbers_keep_their_digits() -> None:
    text = '{"file_path": "a", "end_line": 123456789012345678901234567890,}'
    assert msgspec.json.decode(settle(text, TOOLS["read_file"]))["end_line"] == 123456789012345678901234567890
