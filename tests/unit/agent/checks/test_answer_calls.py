"""Calls that an answer plainly stands for, and texts that could also be words for the user."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.answer_calls import (
    calls_in,
    command_in,
    ends_with_replacement,
    holds_change,
    holds_commands,
    split_blocks,
)
from localllm.base.events import ToolCall

CODE = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5"
SCRIPT = "set -eu\nfor host in a b\ndo\n  echo $host\ndone"


def announces(said: str) -> bool:
    """Whether a text says what is done next, for these tests."""
    return said.startswith(("I will", "Let me"))


def made(calls: Sequence[ToolCall]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in calls]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text(f"{CODE}\n")
    (project / "src").mkdir()
    return project


def block(body: str, info: str = "python", before: str = "", fence: str = "```") -> str:
    return f"{before}\n{fence}{info}\n{body}\n{fence}".lstrip("\n")


class TestBlocks:
    @pytest.mark.parametrize(
        ("text", "path"),
        [
            (block("x = 1", before="a.py"), "a.py"),
            (block("x = 1", before="**`./src/a.py`:**"), "src/a.py"),
            (block("x = 1", before="### File: a.py"), "a.py"),
            (block("x = 1", before="ファイル名：a.py"), "a.py"),
            (block("all:", "make", before="Makefile"), "Makefile"),
            (block("x = 1", "python a.py"), "a.py"),
            (block("x = 1", 'python title="a.py"'), "a.py"),
            (block("# a.py\nx = 1"), "a.py"),
            (block("// file: src/a.js\nx = 1", "js"), "src/a.js"),
            (block("<!-- a.html -->\nx", "html"), "a.html"),
            (block("x = 1\n# a.py"), ""),
            (block("x = 1", before="Change a.py so"), ""),
            (block("x = 1"), ""),
        ],
    )
    def test_the_file_a_block_is_said_to_be(self, text: str, path: str) -> None:
        found = split_blocks(text)
        assert found is not None
        assert [one.path for one in found[0]] == [path]

    def test_blocks_are_told_from_what_stands_between_them(self) -> None:
        text = f"First.\na.py\n{block('x = 1')}\nThen.\n{block('ls', 'BASH', fence='~~~~')}\nThat is all.\n"
        found = split_blocks(text)
        assert found is not None
        (first, second), rest = found
        assert (first.prose, first.info, first.body, first.is_shell) == ("First.", "python", "x = 1", False)
        assert (second.prose, second.info, second.body, second.is_shell) == ("Then.", "BASH", "ls", True)
        assert rest == "That is all."

    def test_a_longer_fence_holds_shorter_ones_and_one_without_an_end_is_none(self) -> None:
        found = split_blocks(block(block("x"), "md", fence="````"))
        assert found is not None
        assert [one.body for one in found[0]] == ["```python\nx\n```"]
        assert split_blocks("```python\nx = 1") is None


class TestCommands:
    @pytest.mark.parametrize(
        ("line", "is_run"),
        [
            ("I'll prepare deploy.sh now.", False),
            ("Now I'll make deploy.sh:", False),
            ("I will put this into deploy.sh:", False),
            ("Let me draft deploy.sh:", False),
            ("I’ll add deploy.sh with these lines.", False),
            ("Let me set up deploy.sh:", False),
            ("Here is deploy.sh:", False),
            ("スクリプト deploy.sh を追加します。", False),
            ("I'll run what deploy.sh needs first:", True),
            ("deploy.sh の前に実行します。", True),
            ("Look at deploy.sh, then:", True),
        ],
    )
    def test_what_is_said_of_a_script_decides_whether_it_is_run(self, line: str, is_run: bool) -> None:
        body = "rm -f a.txt\necho deployed > OUT"
        assert bool(command_in(block(body, "bash", before=line))) == is_run

    @pytest.mark.parametrize(
        ("text", "command"),
        [
            (block("ls -l\n", "bash"), "ls -l"),
            (block("$ ls\n  $ pwd", "console"), "ls\npwd"),
            (block("$ ls\na.py", "console"), ""),
            (block("ls", "python"), ""),
            (block("ls", "bash") + "\nThat lists them.", ""),
            (block("ls", "bash") + "\n" + block("pwd", "bash"), ""),
            (block("cat <your file>", "bash"), ""),
            (block("cat path/to/file", "bash"), ""),
            (block("make ...", "bash"), ""),
            (block("go test ./...", "bash"), ""),
            (block("#!/bin/bash\nrm -r old", "bash"), ""),
            (block(SCRIPT, "bash", before="Now deploy.sh:"), ""),
            (block(SCRIPT, "bash", before="**`bin/deploy.sh`**"), ""),
            (block(SCRIPT, "bash", before="I looked at deploy.sh.\n\nNow:"), SCRIPT),
            (block(f"{SCRIPT}\nsh deploy.sh", "bash", before="Now deploy.sh:"), f"{SCRIPT}\nsh deploy.sh"),
            (block("ls -l", "bash", before="Now deploy.sh:"), "ls -l"),
            (block("rm -f a.txt\necho done > OUT", "bash", before="I'll write deploy.sh now."), ""),
            (block("rm -f a.txt", "bash", before="deploy.sh を作成します。"), ""),
            (block(f"# Usage: deploy.sh ENV\n{SCRIPT}", "bash", before="Now deploy.sh:"), ""),
            (
                block("chmod +x deploy.sh", "bash", before="I'll create deploy.sh and make it executable."),
                "chmod +x deploy.sh",
            ),
            (block("./deploy.sh x", "bash", before="deploy.sh を作成しました。実行します。"), "./deploy.sh x"),
            (block("cat > deploy.sh <<E\nls\nE", "bash", before="I'll write deploy.sh:"), "cat > deploy.sh <<E\nls\nE"),
            (block("go test ./... -run x", "bash"), "go test ./... -run x"),
        ],
    )
    def test_what_a_text_consists_of(self, text: str, command: str) -> None:
        assert command_in(text) == command

    @pytest.mark.parametrize(("before", "runs"), [("", True), ("I will list them:", True), ("Run this:", False)])
    def test_they_are_run_where_nothing_is_said_to_the_user(self, root: Path, before: str, runs: bool) -> None:
        expected = [("run_command", {"command": "ls"})] if runs else []
        assert made(calls_in(block("ls", "bash", before), root, announces)) == expected

    @pytest.mark.parametrize(
        ("text", "holds"),
        [(block("ls", "sh"), True), (block("", "sh"), False), (block("x", "py"), False), ("ls", False)],
    )
    def test_whether_there_are_any(self, text: str, holds: bool) -> None:
        assert holds_commands(text) == holds


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "written"),
        [
            (block(CODE, before="b.py"), ["b.py"]),
            (block(CODE, before="I will create b.py:"), ["b.py"]),
            (block(CODE, before="I will create ./src/b.py:"), ["src/b.py"]),
            (block(CODE, before="b.py") + "\n\n" + block(CODE, before="c.py"), ["b.py", "c.py"]),
            (block(CODE, before="b.py") + "\n\n" + block(CODE), []),
            (block(CODE, before="I will create b.py and c.py:"), []),
            (block(CODE, before="This is b.py:"), []),
            (block(CODE), []),
            (block("", before="b.py"), []),
            (block("+x", "diff", before="b.py"), []),
            (block(CODE, before="b.py") + "\nThat is it.", []),
            (block("ls", "bash", before="b.py\n\nI will run b.sh:") + "\n\n" + block(CODE, before="c.py"), []),
        ],
    )
    def test_those_under_their_names_are_written(self, root: Path, text: str, written: list[str]) -> None:
        calls = made(calls_in(text, root, announces))
        assert calls == [("write_file", {"file_path": path, "content": f"{CODE}\n"}) for path in written]

    def test_a_script_is_written_and_not_run(self, root: Path) -> None:
        for body, before in ((f"#!/bin/sh\n{SCRIPT}", "I will write b.sh:"), (SCRIPT, "b.sh")):
            calls = made(calls_in(block(body, "bash", before), root, announces))
            assert calls == [("write_file", {"file_path": "b.sh", "content": f"{body}\n"})]
        assert calls_in(block(f"#!/bin/sh\n{SCRIPT}", "bash", "I will do that now:"), root, announces) == ()

    @pytest.mark.parametrize(
        ("path", "body", "is_whole"),
        [
            ("a.py", "a = 1\nb = 2\nc = 3\nnew = 4", True),
            ("a.py", "  a = 1\nb = 2\nnew = 3", False),
            ("a.py", "new = 1", False),
            ("new.py", "new = 1", True),
            ("src.d/new.py", "new = 1", True),
            ("../new.py", "new = 1", False),
        ],
    )
    def test_one_that_is_there_is_written_only_by_a_text_that_has_most_of_it(
        self, root: Path, path: str, body: str, is_whole: bool
    ) -> None:
        assert bool(calls_in(block(body, f"python title={path}"), root, announces)) == is_whole

    def test_one_that_is_there_is_not_written_where_only_the_prose_names_it(self, root: Path) -> None:
        assert calls_in(block(CODE, before="I will change a.py:"), root, announces) == ()
        assert made(calls_in(block(CODE, before="a.py"), root, announces)) != []

    def test_what_is_no_text_is_not_written(self, root: Path) -> None:
        (root / "b.py").write_bytes(b"\xff\xfe\0")
        (root / "dir.py").mkdir()
        os.mkfifo(root / "pipe.py")  # opened as a file, it would wait for a writer for good
        (root / "round.py").symlink_to("round.py")
        for path in ("b.py", "dir.py", "pipe.py", "round.py", f"{'n' * 300}.py"):
            assert calls_in(block(CODE, before=path), root, announces) == ()


def change(old: str, new: str, name: str = "") -> str:
    return f"{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE".lstrip("\n")


class TestReplacements:
    ONE, TWO = change("a = 1", "a = 2", "a.py"), change("b = 2", "b = 3")

    @pytest.mark.parametrize(
        ("text", "edits"),
        [
            (ONE, [("a.py", "a = 1", "a = 2")]),
            (f"```\n{ONE}\n```", [("a.py", "a = 1", "a = 2")]),
            (f"I will change it:\n{ONE}", [("a.py", "a = 1", "a = 2")]),
            (f"{ONE}\n{TWO}", [("a.py", "a = 1", "a = 2"), ("a.py", "b = 2", "b = 3")]),
            (f"{ONE}\nb.py\n{TWO}", [("a.py", "a = 1", "a = 2"), ("b.py", "b = 2", "b = 3")]),
            (change("a = 1\nb = 2", "", "a.py"), [("a.py", "a = 1\nb = 2", "")]),
            (TWO, []),
            (f"You could do this:\n{ONE}", []),
            (f"{ONE}\nThat is it.", []),
            (change("", "a = 2", "a.py"), []),
            ("SEARCH for it", []),
        ],
    )
    def test_each_names_its_file_or_follows_one_that_does(
        self, root: Path, text: str, edits: list[tuple[str, str, str]]
    ) -> None:
        expected = [
            ("edit_file", {"file_path": path, "old_string": old, "new_string": new}) for path, old, new in edits
        ]
        assert made(calls_in(text, root, announces)) == expected

    @pytest.mark.parametrize(
        ("text", "ends"), [(ONE, True), (f"So:\n```\n{ONE}\n```\n", True), (f"{ONE}\nThat is it.", False), ("", False)]
    )
    def test_a_text_that_ends_with_one(self, text: str, ends: bool) -> None:
        assert ends_with_replacement(text) == ends


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (change("a", "b"), True),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@", True),
        ("*** Begin Patch\n", True),
        (block(CODE, before="a.py"), True),
        (block(CODE, before="In a.py this becomes"), True),
        (block("a = 1", before="a.py"), False),
        (block(CODE), False),
        (block(CODE, "bash", before="a.py"), False),
        (block(SCRIPT, "bash", before="This is deploy.sh now:"), True),
        ("a.py is changed", False),
    ],
)
def test_a_text_that_holds_a_change(text: str, holds: bool) -> None:
    assert holds_change(text) == holds
