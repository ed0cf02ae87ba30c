"""The user's uncommitted lines that git takes away with a model's change are named."""

import subprocess
from pathlib import Path

import pytest

from localllm.base.events import AgentEvent, Notice, ToolCall
from localllm.base.jsontext import encode_json
from localllm.tools.lost_edits import is_restoring
from localllm.tools.tool_system import ToolSystem
from tests.support.agents import make_tools

pytestmark = pytest.mark.anyio

SOMEONE = ("-c", "user.name=Someone", "-c", "user.email=someone@example.invalid")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    for words in (("init", "-q"), ("add", "-A"), (*SOMEONE, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


async def done(tools: ToolSystem, name: str, **arguments: str) -> tuple[str, list[str]]:
    """What the model reads of a call, and the warnings for the user."""
    events: list[AgentEvent] = []
    result = await tools.execute(ToolCall("1", name, encode_json(arguments).decode()), events.append)
    return result.for_model, [one.text for one in events if isinstance(one, Notice) and one.level == "warning"]


@pytest.mark.parametrize("command", ["git checkout -- a.txt", "git restore a.txt", "git reset -q --hard"])
async def test_lines_from_before_the_session_are_named(project: Path, command: str) -> None:
    (project / "a.txt").write_text("one\ntwo\nmine\n")
    tools = make_tools(project)
    await done(tools, "edit_file", file_path="a.txt", old_string="one", new_string="three")
    told, warnings = await done(tools, "run_command", command=command)
    assert (project / "a.txt").read_text() == "one\ntwo\n"
    assert "lines in a.txt that are not yours" in told
    assert len(warnings) == 1
    assert "a.txt" in warnings[0]


async def test_what_the_model_itself_wrote_is_not(project: Path) -> None:
    tools = make_tools(project)
    await done(tools, "edit_file", file_path="a.txt", old_string="two", new_string="two\nthree")
    told, warnings = await done(tools, "run_command", command="git checkout -- a.txt")
    assert (project / "a.txt").read_text() == "one\ntwo\n"
    assert ("not yours" in told, warnings) == (False, [])


@pytest.mark.parametrize("command", ["git reset -q --hard HEAD~1", "git checkout HEAD~1 -- a.txt"])
async def test_committed_lines_are_not(project: Path, command: str) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    subprocess.run(["git", *SOMEONE, "commit", "-q", "-a", "-m", "Go on"], cwd=project, check=True)
    tools = make_tools(project)
    told, warnings = await done(tools, "run_command", command=command)
    assert (project / "a.txt").read_text() == "one\ntwo\n"
    assert ("not yours" in told, warnings) == (False, [])
    (project / "a.txt").write_text("one\ntwo\nmine\n")
    assert "not yours" in (await done(make_tools(project), "run_command", command="git checkout -- ."))[0]


@pytest.mark.parametrize(
    ("command", "is_back"),
    [
        ("git checkout -- a.txt", True),
        ("git checkout a.txt", True),
        ("git checkout HEAD -- .", True),
        ("git -C . restore src/a.txt", True),
        ("git restore --staged a.txt", False),
        ("git restore -S -W a.txt", True),
        ("git reset --hard", True),
        ("git reset a.txt", False),
        ("git checkout other", False),
        ("git checkout -f other", True),
        ("git switch other", False),
        ("git switch --discard-changes other", True),
        ("git checkout -b new", False),
        ("echo x > a.txt", False),
    ],
)
def test_which_commands_put_files_back(command: str, is_back: bool) -> None:
    assert is_restoring(command, ["a.txt"]) == is_back
