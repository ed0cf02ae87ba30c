"""Patches: read, and made by the same tools as any other change."""

import json
from pathlib import Path

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.base.events import ToolCall
from localllm.config.schema import SafetySettings
from localllm.llm.messages import AssistantMessage
from localllm.tools.patch import calls_of, parse_patch, patch_in_command, replacements_in
from tests.support.agents import Answering, make_tools

pytestmark = pytest.mark.anyio

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def first():
-    return 1
+    return 10
@@
 def second():
-    return 2
+    return 20
*** Add File: docs/new.md
+# New
+
+Text.
*** Delete File: old.txt
*** Update File: src/b.py
*** Move to: lib/c.py
@@
-x = 1
+x = 2
*** End Patch
"""
UNIFIED = """--- a/src/b.py
+++ b/src/b.py
@@ -1,2 +1,2 @@
-x = 1
+x = 2
 y = 1
--- /dev/null
+++ b/docs/new.md
@@ -0,0 +1 @@
+# New
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return 2\n")
    (root / "src" / "b.py").write_text("x = 1\ny = 1\n")
    (root / "old.txt").write_text("old\n")
    return root


async def apply(project: Path, name: str, arguments: dict, person: Answering, **safety: object) -> tuple[str, object]:
    tools = make_tools(project, confirmer=person, safety=SafetySettings(**safety))  # type: ignore[arg-type]
    message = tools.understood(AssistantMessage("", (ToolCall("1", name, json.dumps(arguments)),)))
    results = [await tools.execute(call, lambda _: None) for call in message.tool_calls]
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    return "\n".join(result.for_model for result in results), tools


HEREDOC = f"apply_patch <<'EOF'\n{PATCH}EOF"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", {"patch": PATCH}),
        ("apply_patch", {"input": PATCH}),
        ("ApplyPatch", {"patchText": PATCH}),
        ("run_command", {"command": HEREDOC}),
        ("shell", {"command": ["bash", "-lc", HEREDOC]}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("bash", {"cmd": f"cd . && {HEREDOC}"}),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_patch_is_made(project: Path, name: str, arguments: dict) -> None:
    await apply(project, name, arguments, Answering(approve=True))
    assert (project / "src/a.py").read_text() == "def first():\n    return 10\n\n\ndef second():\n    return 20\n"
    assert (project / "docs/new.md").read_text() == "# New\n\nText.\n"
    assert (project / "lib/c.py").read_text() == "x = 2\ny = 1\n"
    assert not (project / "old.txt").exists()
    assert not (project / "src/b.py").exists()


async def test_each_part_is_asked_about_as_what_it_is_and_comes_back(project: Path) -> None:
    person = Answering(approve=True)
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}
    _, tools = await apply(project, "apply_patch", {"patch": PATCH}, person)
    assert [asked.tool for asked in person.asked] == [
        "edit_file",
        "write_file",
        "run_command",
        "edit_file",
        "run_command",
    ]
    assert [asked.detail for asked in person.asked if asked.tool == "run_command"] == [
        "rm -- old.txt",
        "mkdir -p -- lib && mv -- src/b.py lib/c.py",
    ]
    for _ in range(5):
        tools.changes.undo()  # type: ignore[attr-defined]
    assert {path: path.read_bytes() for path in before} == before


async def test_where_edits_need_no_question_a_deletion_does(project: Path) -> None:
    person = Answering(approve=False)
    await apply(project, "apply_patch", {"patch": PATCH}, person, mode="auto-edit")
    assert [asked.detail for asked in person.asked] == ["rm -- old.txt", "mkdir -p -- lib && mv -- src/b.py lib/c.py"]
    assert (project / "old.txt").exists()


@pytest.mark.parametrize(
    "patch",
    ["", "*** Begin Patch\n*** End Patch", "just words", "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch",
     "*** Begin Patch\n*** Update File: src/a.py\n@@\n+only new\n*** End Patch",
     "*** Begin Patch\n*** Add File: x\n+a\nb\n*** End Patch"],
)  # fmt: skip
async def test_what_is_no_patch_changes_nothing_and_is_told(project: Path, patch: str) -> None:
    text, _ = await apply(project, "apply_patch", {"patch": patch}, Answering(approve=True))
    assert "patch cannot be read" in text
    assert "edit_file" in text


def test_a_diff_is_a_patch() -> None:
    assert calls_of(parse_patch(UNIFIED)) == [
        ("edit_file", {"file_path": "src/b.py", "old_string": "x = 1\ny = 1", "new_string": "x = 2\ny = 1"}),
        ("write_file", {"file_path": "docs/new.md", "content": "# New\n"}),
    ]


def test_new_lines_alone_go_behind_the_line_that_is_named() -> None:
    (change,) = parse_patch("*** Update File: a\n@@ def f():\n+    pass\n")
    assert [(one.old_string, one.new_string) for one in change.replacements] == [("def f():", "def f():\n    pass")]


def test_lines_that_only_go_take_their_line_ends_with_them() -> None:
    (change,) = parse_patch("*** Update File: a\n@@\n-x\n")
    assert [(one.old_string, one.new_string) for one in change.replacements] == [("x\n", "")]


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE",
        "------- SEARCH\na\nb\n=======\nc\n+++++++ REPLACE",
        "<<<<<<< SEARCH\n:start_line:3\n-------\na\nb\n=======\nc\n>>>>>>> REPLACE\n",
        "```\n<<<<<<< SEARCH\r\na\r\nb\r\n=======\r\nc\r\n>>>>>>> REPLACE\r\n```",
        "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n-b\n+c\n",
    ],
)
def test_replacements_of_other_assistants(text: str) -> None:
    assert [(one.old_string, one.new_string) for one in replacements_in(text)] == [("a\nb", "c")]


@pytest.mark.parametrize("text", ["", "a = b", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other", "- one\n+ two"])
def test_what_is_no_replacement(text: str) -> None:
    assert replacements_in(text) == []


@pytest.mark.parametrize(
    "command",
    [
        "echo apply_patch",
        "cat <<'EOF'\n*** Begin Patch\nEOF",
        "rm -rf x; apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF\nrm -rf x",
        "git apply <<'EOF'\n*** Begin Patch\nEOF",
        "apply_patch '*** Begin Patch' 'x'",
    ],
)
def test_another_command_is_no_patch(command: str) -> None:
    assert patch_in_command(command)[0] == ""


def test_the_folder_it_goes_to_first_counts() -> None:
    patch, folder = patch_in_command("cd src && apply_patch <<EOF\n*** Delete File: a.py\nEOF")
    assert calls_of(parse_patch(patch), folder) == [("run_command", {"command": "rm -- src/a.py"})]


def test_a_patch_without_files_says_so() -> None:
    with pytest.raises(ToolExecutionError):
        parse_patch("nothing")
