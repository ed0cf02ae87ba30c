"""What a rule closes to read_file, no other tool shows; what read_file asks about, none shows unasked."""

import json
import subprocess
from pathlib import Path

import pytest

from localllm.base.events import Json, ToolCall
from localllm.config.schema import SafetySettings
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy
from localllm.safety.rules import closed_to_commands, still_showing
from localllm.tools.builtin import TOOLS, analyze_code
from localllm.tools.git import git_diff
from localllm.tools.search import search_files
from tests.support.agents import Answering, make_tools
from tests.support.tools import make_context, put, use

pytestmark = pytest.mark.anyio

RULES = ("read_file(secret)", "*(secret/)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    put(tmp_path / "open.py", "def open_door():\n    return 1\n")
    put(tmp_path / "secret" / "key.py", "def hidden_door():\n    return 2\n")
    put(tmp_path / "secretary.py", "def front_door():\n    return 3\n")
    (tmp_path / "alias").symlink_to("secret")
    return tmp_path


@pytest.mark.parametrize("rule", [*RULES, "read_file(alias)"])
async def test_a_search_above_leaves_it_out_and_says_so(project: Path, rule: str) -> None:
    found = await use(search_files, make_context(project, deny=(rule,)), pattern="_door")
    assert "open_door" in found.for_model
    assert "front_door" in found.for_model, "a name that only begins alike"
    assert "hidden" not in found.for_model
    assert "1 closed by a rule" in found.for_model
    assert "closed" not in (await use(search_files, make_context(project), pattern="_door")).for_model


@pytest.mark.parametrize("rule", [*RULES, "read_file(alias)"])
async def test_a_map_of_a_folder_above_leaves_it_out_and_says_so(project: Path, rule: str) -> None:
    found = await use(analyze_code, make_context(project, deny=(rule,)), file_path=".")
    assert "open_door" in found.for_model
    assert "front_door" in found.for_model
    assert "hidden" not in found.for_model
    assert "key.py" not in str(found.payload)
    assert "[1 source file is left out: a rule closes it]" in found.for_model


@pytest.mark.parametrize("typed", ["がく", "か\u3099く"])
async def test_of_two_names_that_look_the_same_a_rule_closes_both(tmp_path: Path, typed: str) -> None:
    for name in ("がく", "か\u3099く"):
        put(tmp_path / name / "key.py", "def hidden_door():\n    return 2\n")
    found = await use(search_files, make_context(tmp_path, deny=(f"read_file({typed})",)), pattern="_door")
    assert "hidden" not in found.for_model
    assert "2 closed by a rule" in found.for_model
    root, [write] = ProjectRoot(tmp_path), [tool for tool in TOOLS if tool.name == "write_file"]
    for name in ("がく", "か\u3099く"):
        call: dict[str, Json] = {"file_path": f"{name}/new.py", "content": ""}
        denied = Policy(SafetySettings(deny=(f"*({typed})",))).judge(write, call, root.relative)
        allowed = Policy(SafetySettings(allow=(f"write_file({typed})",))).judge(write, call, root.relative)
        assert denied.decision == "deny"
        assert (allowed.decision == "allow") == (name == typed), "what is allowed is only that"


@pytest.mark.parametrize("rule", [*RULES, "read_file(alias)"])
async def test_what_is_asked_about_is_left_out_above_and_shown_where_it_is_named(project: Path, rule: str) -> None:
    context = make_context(project, ask=(rule,))
    found = await use(search_files, context, pattern="_door")
    assert "open_door" in found.for_model
    assert "hidden" not in found.for_model
    assert "1 that read_file asks about" in found.for_model
    drawn = await use(analyze_code, context, file_path=".")
    assert "open_door" in drawn.for_model
    assert "hidden" not in drawn.for_model
    assert "[1 source file is left out: read_file asks about it]" in drawn.for_model
    assert "hidden_door" in (await use(search_files, context, pattern="_door", path="secret")).for_model
    assert "hidden_door" in (await use(analyze_code, context, file_path="secret")).for_model
    both = await use(analyze_code, make_context(project, ask=(rule,), deny=("read_file(open.py)",)), file_path=".")
    assert "[2 source files are left out: a rule closes them, or read_file asks about them]" in both.for_model
    assert "hidden_door" in (await use(search_files, make_context(project, ask=("read_file",)), pattern="_d")).for_model


@pytest.mark.parametrize("by", ["user", "unattended"])
async def test_what_a_refused_change_would_lose_is_not_named_where_reading_is_asked_about(
    project: Path, by: str
) -> None:
    code = "".join(f"def hidden_{n}(x):\n    y = x + {n}\n    return y * {n}\n\n\n" for n in range(12))
    put(project / "secret" / "key.py", code)
    put(project / "open.py", code)
    refusing = Answering(approve=False, by=by)
    tools = make_tools(project, confirmer=refusing, safety=SafetySettings(mode="auto", ask=("read_file(secret/)",)))
    for path, is_named in (("secret/key.py", False), ("open.py", True)):
        call = ToolCall("1", "edit_file", json.dumps({"file_path": path, "old_string": code, "new_string": "x = 1\n"}))
        result = await tools.execute(call, lambda _event: None)
        assert not result.success
        assert ("hidden_0" in result.for_model) == is_named
    assert refusing.asked


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("staged", [False, True])
async def test_a_difference_leaves_it_out_and_says_so(project: Path, rule: str, staged: bool) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)

    git("init", "--quiet", "--template=")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first")
    put(project / "open.py", "def open_window(): ...\n")
    put(project / "secret" / "key.py", "def hidden_window(): ...\n")
    if staged:
        git("add", ".")
    shown = await use(git_diff, make_context(project, deny=(rule,)), staged=staged)
    assert "open_window" in shown.for_model
    assert "hidden" not in shown.for_model
    assert shown.payload["files"] == ["open.py"]
    assert "[1 changed file is left out: a rule closes it]" in shown.for_model
    asking = make_context(project, ask=(rule,))
    above = await use(git_diff, asking, staged=staged)
    assert "hidden" not in above.for_model
    assert "[1 changed file is left out: read_file asks about it]" in above.for_model
    assert "hidden_window" in (await use(git_diff, asking, staged=staged, file_path="secret")).for_model
    assert "hidden_window" in (await use(git_diff, make_context(project), staged=staged)).for_model


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("path", ["secret", "secret/key.py", "alias/key.py"])
@pytest.mark.parametrize("name", ["read_file", "search_files", "analyze_code", "git_diff", "edit_file", "write_file"])
def test_a_call_that_names_it_is_refused(project: Path, rule: str, path: str, name: str) -> None:
    tool = next(tool for tool in TOOLS if tool.name == name)
    arguments: dict[str, Json] = {tool.paths[0]: path}
    root = ProjectRoot(project)
    assert Policy(SafetySettings(deny=(rule,))).judge(tool, arguments, root.relative).decision == "deny"
    other: dict[str, Json] = {tool.paths[0]: "open.py"}
    assert Policy(SafetySettings(deny=(rule,))).judge(tool, other, root.relative).decision != "deny"


def test_names_may_be_listed_and_a_rule_for_all_tools_closes_to_commands() -> None:
    listing = next(tool for tool in TOOLS if tool.name == "list_files")
    policy = Policy(SafetySettings(deny=("read_file(secret)",)))
    assert policy.judge(listing, {"path": "secret"}, lambda path: path).decision == "allow"
    assert closed_to_commands(SafetySettings(deny=("*(secret)", "*(https://example.org)"))) == (["secret"], [])


async def test_without_a_path_only_the_tool_is_gone_and_a_dot_closes_all(project: Path) -> None:
    whole = SafetySettings(deny=("read_file",))
    assert "run_command" in still_showing(whole)
    assert "search_files" in still_showing(whole)
    assert still_showing(SafetySettings(deny=("read_file", "*"))) == []
    assert still_showing(SafetySettings(deny=("read_file(.)",))) == []
    found = await use(search_files, make_context(project, deny=("read_file(.)",)), pattern="_door")
    assert "_door():" not in found.for_model
