"""A file that the request orders to leave as it is: no tool changes it, and a command that did is not passed over."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.phrases.banned_files import kept_files
from localllm.agent.phrases.request_phrases import banned_files
from localllm.agent.plan_mode import ACCEPTED
from localllm.agent.run_stats import AgentResult
from localllm.base.events import ToolFinished
from localllm.config.schema import SafetySettings
from localllm.llm.messages import UserMessage
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio


@each(
    ("request_", "files"),
    [
        ("Make backup.sh robust. Do not touch deploy.sh.", ["deploy.sh"]),
        ("Make backup.sh robust, but leave deploy.sh alone.", ["deploy.sh"]),
        ("Apply it to a copy of shop.db, not to shop.db itself.", ["shop.db"]),
        ("Refactor b.py without touching a.py or `c.py`.", ["a.py", "c.py"]),
        ("Rename f; don't change tests/ please", ["tests/"]),
        ("Fix it. Don't edit the Makefile, use a script", ["Makefile"]),
        ("config.yml must stay unchanged.", ["config.yml"]),
        ("a.py must not be changed. Fix b.py.", ["a.py"]),
        ("Keep ./src/api.py exactly as it is.", ["src/api.py"]),
        ("Never modify db/schema.sql!", ["db/schema.sql"]),
        ("Fix the bug (don't touch deploy.sh)", ["deploy.sh"]),
        ("backup.sh を頑丈にして。deploy.sh は触らないで。", ["deploy.sh"]),
        ("backup.sh を頑丈にして。deploy.sh は触るな。config.py は変更するな。", ["deploy.sh", "config.py"]),
        ("backup.sh を直して。ただしdeploy.shは変更しないこと", ["deploy.sh"]),
        ("b.py を変更せず、a.py だけ直して", ["b.py"]),
        ("README.md はそのままで、a.py を直して。", ["README.md"]),
        ("a.py と b.py には手を加えないでください。", ["a.py", "b.py"]),
        ("deploy.shをいじらずに backup.sh を直して", ["deploy.sh"]),
        ("「deploy.sh」は変更禁止です。", ["deploy.sh"]),
        ("Fix a.py. Do not touch @deploy.sh.", ["deploy.sh"]),
        ("Fix a.py. Do not touch .env.", [".env"]),
        ("Leave .gitignore and .github/workflows/ci.yml alone", [".gitignore", ".github/workflows/ci.yml"]),
        ("Do not touch .github/ please", [".github/"]),
        ("Fix a.py. Do not touch anything in src/.", ["src/"]),
        ("Don't change any files in @src/ please", ["src/"]),
        ("Don't touch the src folder", ["src/"]),
        ("Leave the src directory alone", ["src/"]),
        ("a.py を直して。@deploy.sh は触らないで。", ["deploy.sh"]),
        (".env は変更しないで", [".env"]),
        ("src フォルダは触らないで", ["src/"]),
        ("src/ 以下は変更しないこと", ["src/"]),
    ],
)
def test_files_to_be_left_as_they_are(request_: str, files: list[str]) -> None:
    assert banned_files(request_) == files


@each(
    "request_",
    [
        "Don't change a.py's API.",
        "Don't change a.py or b.py's API.",
        "Don't change the tests in a.py",
        "Don't change anything but a.py.",
        "Don't edit a.py directly; run the generator.",
        "Don't touch a.py until the tests pass",
        "Do not overwrite a.py",
        "Why don't you change a.py?",
        "If you don't change a.py, it fails.",
        "The script never changes a.csv.",
        "Write a program that does not change a.csv",
        "The error is not in a.py itself?",
        "Change a.py, not b.py's tests",
        "Can you keep a.py unchanged?",
        "Keep a.py short.",
        "Leave a comment in a.py.",
        "Fix a.py so that x is not changed.",
        "Without changing a.py the test fails.",
        "a.py 以外は変更しないで",
        "a.py の関数名は変更しないで",
        "a.py を変更しないと直らない",
        "a.py をそのままコピーして b.py を作って",
        "a.py は変更できますか？",
        "a.py が変更されない問題を直して",
        "a.py を変更しない方法を教えて",
        "README.md に「deploy.sh は触らないこと」と書いて",
        "b.py が a.csv を変更しないように直して",
        "Don't change anything.",
        "Don't change the folder structure.",
        "Don't change the src folder structure",
        "Don't change anything else in src/",
        "Create a folder called old; don't change its name",
        "Move it to the old folder, but don't overwrite",
        "フォルダの構成は変更しないで",
        "src フォルダの構成は変更しないで",
        "Mail me@example.org that you leave it as it is",
        "",
    ],
)
def test_other_orders(request_: str) -> None:
    assert banned_files(request_) == []


FIX_A = call("edit_file", file_path="lib/a.py", old_string="x = 1", new_string="x = 2")
FIX_B = call("edit_file", file_path="b.py", old_string="x = 1", new_string="x = 2")
BY_COMMAND = call("run_command", command="cd lib && sed -i 's/x = 1/x = 3/' [a]*")
REQUEST = "Set x to 2 in b.py. Do not touch a.py."
ANSWER = "x is 2 in b.py; nothing was run."


async def ended(folder: Path, request: str, *turns: dict[str, object] | str) -> tuple[AgentResult, list[str]]:
    put_files(folder)
    agent = make_agent(
        scripted(*turns), folder, tools=make_tools(folder, confirmer=HeadlessConfirmer(approve_all=True))
    )
    result = await agent.execute_query(request)
    return result, [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


def put_files(folder: Path) -> None:
    (folder / "lib").mkdir()
    for name in ("lib/a.py", "b.py"):
        (folder / name).write_text("x = 1\n")


async def test_an_edit_of_one_is_refused_where_nobody_is_there(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, REQUEST, FIX_B, FIX_A, ANSWER)
    assert (result.status, told) == ("done", [])
    assert [(tmp_path / name).read_text() for name in ("lib/a.py", "b.py")] == ["x = 1\n", "x = 2\n"]


async def test_a_person_is_asked_about_it_in_this_turn_and_while_it_goes_on(tmp_path: Path) -> None:
    put_files(tmp_path)
    confirmer = Answering(approve=True)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    back = call("edit_file", file_path="lib/a.py", old_string="x = 2", new_string="x = 1")
    agent = make_agent(scripted(FIX_B, FIX_A, ANSWER, back, ANSWER, FIX_A, ANSWER), tmp_path, tools=tools)
    await agent.execute_query(REQUEST)
    assert [one.reason for one in confirmer.asked] == ["You asked that this file be left as it is."]
    await agent.execute_query("Go on.")
    assert len(confirmer.asked) == 2
    await agent.execute_query("Set x to 2 in a.py, too.")
    assert len(confirmer.asked) == 2


async def test_a_command_that_changed_one_is_not_passed_over(tmp_path: Path) -> None:
    result, told = await ended(tmp_path, REQUEST, FIX_B, BY_COMMAND, ANSWER, ANSWER)
    assert told[0] == "[The user wants lib/a.py left as it is, and it changed. Put it back as it was.]"
    assert result.status == "incomplete"
    assert "lib/a.py changed, though the request forbids it" in [str(one) for one in result.unverified]


async def test_a_command_that_a_person_has_allowed_to_change_one_is(tmp_path: Path) -> None:
    put_files(tmp_path)
    confirmer = Answering(approve=True)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    by_name = call("run_command", command="sed -i 's/x = 1/x = 3/' lib/a.py")
    agent = make_agent(scripted(FIX_B, by_name, ANSWER), tmp_path, tools=tools)
    result = await agent.execute_query(REQUEST)
    assert [one.reason for one in confirmer.asked] == ["You asked that this file be left as it is."]
    assert "lib/a.py changed, though the request forbids it" not in [str(one) for one in result.unverified]
    assert result.status == "done"


@pytest.mark.parametrize(
    "again",
    [
        call("run_command", command="sed -i 's/x = 3/x = 1/' lib/a.py"),
        call("edit_file", file_path="lib/a.py", old_string="x = 3", new_string="x = 1"),
    ],
)
async def test_what_was_put_back_is_no_change(tmp_path: Path, again: dict[str, Any]) -> None:
    result, _told = await ended(tmp_path, REQUEST, FIX_B, BY_COMMAND, ANSWER, again, ANSWER)
    assert (tmp_path / "lib/a.py").read_text() == "x = 1\n"
    assert "lib/a.py changed, though the request forbids it" not in [str(one) for one in result.unverified]


async def test_a_name_means_the_file_that_is_there_and_no_other_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    fix_top = call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2")
    request = "Do not touch a.py; only set x to 2 in lib/a.py."
    result, told = await ended(tmp_path, request, FIX_A, fix_top, "x is 2 in lib/a.py; nothing was run.")
    assert (result.status, told) == ("done", [])
    assert [(tmp_path / name).read_text() for name in ("lib/a.py", "a.py")] == ["x = 2\n", "x = 1\n"]


@each(
    ("request_", "kept"),
    [
        ("Convert conf.yaml to JSON, but keep conf.yaml", ["conf.yaml"]),
        ("Convert conf.yaml to JSON; don't delete conf.yaml.", ["conf.yaml"]),
        ("conf.yaml を JSON に変換して。conf.yaml は消さないで", ["conf.yaml"]),
        ("conf.yaml を JSON に変換して。元のファイルは残して", ["conf.yaml"]),
        ("conf.yaml を JSON に変換して（元ファイルは保持）", ["conf.yaml"]),
        ("Convert conf.yaml to JSON and leave the original in place", ["conf.yaml"]),
        ("Keep README.md short.", []),
        ("Remove old.py", []),
        ("Don't remove f from a.py", []),
        ("a.py の f を消さないで", []),
        ("Keep the original names in a.py", []),
        ("Merge b.py into a.py and delete b.py. Keep the original order of functions.", []),
        ("Move f from a.py to b.py, remove a.py, and keep the original behaviour.", []),
        ("Keep the original file, and delete tmp.csv and a.bak.", []),
        ("Convert a.csv to a.json. Leave the original where it is; delete tmp.csv", ["a.csv", "a.json"]),
        ("a.csv を a.json に変換し、tmp.csv は削除。元のファイルは残して", ["a.csv", "a.json"]),
        ("Should I keep the original of a.py?", []),
        ("Don't delete a.py's functions", []),
        ("Don't remove a.py, rename it to b.py", []),
        ("a.py は削除しないで。old/ へ移動して", []),
    ],
)
def test_what_is_not_to_be_deleted(request_: str, kept: list[str]) -> None:
    assert kept_files(request_) == kept


async def asked_about(folder: Path, *turns: tuple[str, ...]) -> list[str]:
    """What a person is asked in a chat in auto, whose turns are a request and the files that the model edits then."""
    for name in {name for _words, *files in turns for name in files}:
        (folder / name).write_text("x = 1\n" * len(turns))
    confirmer = Answering(approve=False)
    tools = make_tools(folder, confirmer=confirmer, safety=SafetySettings(mode="auto-edit"))
    script: list[dict[str, Any] | str] = []
    for _words, *files in turns:
        script.append(call("read_file", file_path="deploy.sh"))
        script += [call("write_file", file_path=name, content="x = 2\n") for name in files]
        script.append("2.")
    agent = make_agent(scripted(*script, ANSWER, ANSWER), folder, tools=tools)
    for words, *_files in turns:
        await agent.execute_query(words)
    return [f"{one.reason} {one.summary}" for one in confirmer.asked]


BANNED = "You asked that this file be left as it is. "


@pytest.mark.parametrize("accepted", [ACCEPTED, "Go on.", "ok, but do not touch a.py either"])
async def test_an_accepted_plan_forbids_what_its_request_did(tmp_path: Path, accepted: str) -> None:
    asked = await asked_about(tmp_path, ("What is 1 + 1? Do not touch deploy.sh.",), (accepted, "deploy.sh"))
    assert [one.startswith(BANNED) for one in asked] == [True]


async def test_a_file_that_is_named_as_wanted_is_not_forbidden_any_longer(tmp_path: Path) -> None:
    turns = [("What is 1 + 1? Do not touch deploy.sh or b.sh.",), ("Go on, change deploy.sh too", "deploy.sh", "b.sh")]
    assert [one.split()[-1] for one in await asked_about(tmp_path, *turns) if BANNED in one] == ["b.sh"]


async def test_what_is_forbidden_while_the_model_works_is_asked_about(tmp_path: Path) -> None:
    put_files(tmp_path)
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    agent = make_agent(scripted(FIX_B, FIX_A, ANSWER, ANSWER), tmp_path, tools=tools)
    asking = agent.run("Set x to 2 in b.py.")
    async for event in asking:
        if isinstance(event, ToolFinished) and event.name == "edit_file" and not confirmer.asked:
            agent.steer("Do not touch a.py!")
    assert [one.reason for one in confirmer.asked] == [BANNED.strip()]


async def test_what_the_answer_to_a_question_forbids_is_asked_about(tmp_path: Path) -> None:
    put_files(tmp_path)
    (tmp_path / "AGENTS.md").write_text("x = 1\n")
    confirmer = Answering(approve=False, feedback="No, and leave a.py alone.")
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto-edit"))
    obeyed = call("edit_file", file_path="AGENTS.md", old_string="x = 1", new_string="x = 2")
    await make_agent(scripted(obeyed, FIX_A, ANSWER, ANSWER), tmp_path, tools=tools).execute_query("Set x to 2.")
    assert [one.reason for one in confirmer.asked][1:] == [BANNED.strip()]


@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        ("sed -i 's/1/2/' lib/a.py", True),
        ("cd lib && rm a.py", True),
        ("echo x >> lib/a.py", True),
        ("rm -r lib", True),
        ("sed -i 's/1/2/' b.py", False),
        ("cp lib/a.py c.py", False),
        ("cat lib/a.py > c.py", False),
        ("rm -r old", False),
    ],
)
async def test_a_command_that_names_one_to_change_it_is_asked_about(
    tmp_path: Path, command: str, is_asked: bool
) -> None:
    put_files(tmp_path)
    (tmp_path / "old").mkdir()
    confirmer = Answering(approve=False)
    tools = make_tools(tmp_path, confirmer=confirmer, safety=SafetySettings(mode="auto"))
    request = "Set x to 2 in b.py. Do not touch lib/a.py."
    turns = [call("run_command", command=command), ANSWER, ANSWER, ANSWER]
    await make_agent(scripted(*turns), tmp_path, tools=tools).execute_query(request)
    assert [one.reason for one in confirmer.asked] == [BANNED.strip()] * is_asked


async def test_a_rule_that_asks_before_a_file_is_read_allows_no_change_of_it(tmp_path: Path) -> None:
    put_files(tmp_path)
    safety = SafetySettings(mode="auto-edit", ask=("read_file(b.py)",))
    tools = make_tools(tmp_path, confirmer=HeadlessConfirmer(approve_all=True), safety=safety)
    agent = make_agent(scripted(FIX_B, ANSWER, ANSWER), tmp_path, tools=tools)
    await agent.execute_query("What is 1 + 1? Do not touch b.py.")
    assert (tmp_path / "b.py").read_text() == "x = 1\n"
