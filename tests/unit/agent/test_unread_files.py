"""A question about a file is not answered from its name alone."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.phrases.request_phrases import asks_about_content
from localllm.agent.react_agent import ReActAgent
from localllm.base.events import RunFinished
from localllm.config.schema import SafetySettings
from localllm.llm.messages import UserMessage
from tests.support.agents import call, make_agent, make_tools, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio

ANSWER = "The file has two functions."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("def add(a, b):\n    return a + b\n")
    return folder


def remarks(agent: ReActAgent) -> list[str]:
    return [said.text for said in agent.history.messages if isinstance(said, UserMessage)][1:]


READ = call("read_file", file_path="src/app.py")


@pytest.mark.parametrize("request_", ["Summarise src/app.py", "What does `src/app.py` do?", "src/app.py を説明して"])
async def test_the_model_is_sent_back_to_read_it(project: Path, request_: str) -> None:
    agent = make_agent(scripted(ANSWER, READ, "It adds two numbers."), project)
    assert (await agent.execute_query(request_)).answer == "It adds two numbers."
    assert remarks(agent) == ["[You have not read src/app.py. Read it, then answer.]"]


@each(
    "request_",
    [
        "deploy.sh の 3 行目は何?",
        "deploy.sh の3行目には何と書いてありますか？",
        "uriage.csv は何行?",
        "uriage.csv には何件ありますか？",
        "members.php に SQL インジェクションはある?",
        "src/app.py では例外を使っていますか？",
        "pom.xml の Java の版は何?",
        "How many lines are in uriage.csv?",
        "Which Java version does pom.xml ask for?",
        "Is there an SQL injection in members.php?",
        "Does src/app.py close the file?",
        "What's in settings.toml?",
        "What settings are in the config.yaml?",
        "What does settings.toml say about the port?",
    ],
)
def test_questions_about_the_content_of_a_file(request_: str) -> None:
    assert asks_about_content(request_)


@each(
    "request_",
    [
        "README.md はありますか？",
        "README.md はどこにある?",
        "package.json とは何ですか？",
        "app.py という名前で問題ない?",
        "app.py はもう直した?",
        "config.yml には何を書けばいい?",
        "README.md にライセンスを書く必要はある?",
        "setup.py と pyproject.toml の違いはある?",
        "app.py を実行して",
        "a.csv を読むのに必要なモジュールはある?",
        "app.py のテストは通った?",
        "Did you change app.py?",
        "Is setup.py still needed?",
        "Is app.py a good name?",
        "Should I commit poetry.lock?",
        "Can you run app.py?",
        "Does pip read setup.py?",
        "Does Makefile syntax allow tabs?",
        "Which is better, setup.py or pyproject.toml?",
        "Where should I put config.yml?",
        "Are you done with app.py?",
        "Do I need an __init__.py?",
        "What's in a package.json?",
        "What should be in settings.toml?",
        "What goes in pyproject.toml?",
    ],
)
def test_other_questions_that_name_a_file(request_: str) -> None:
    assert not asks_about_content(request_)


async def test_a_line_of_it_is_not_told_unread(project: Path) -> None:
    agent = make_agent(scripted("return a です。", READ, "return a + b です。"), project)
    assert (await agent.execute_query("src/app.py の 2 行目は何?")).answer == "return a + b です。"


async def test_it_is_said_once_and_the_user_is_told(project: Path) -> None:
    agent = make_agent(scripted(ANSWER, ANSWER), project)
    result = await agent.execute_query("Summarise src/app.py")
    assert (result.status, result.unverified) == ("done", ("src/app.py was not read",))
    assert len(remarks(agent)) == 1


@pytest.mark.parametrize(
    "request_",
    [
        "Summarise @src/app.py",
        "Explain src/gone.py",
        "How do I run src/app.py?",
        "Explain this from src/app.py:\n```\ndef add(a, b):\n```",
    ],
)
async def test_where_it_is_known_or_not_needed_nothing_is_said(project: Path, request_: str) -> None:
    agent = make_agent(scripted(ANSWER), project)
    assert (await agent.execute_query(request_)).answer == ANSWER
    assert remarks(agent) == []


async def test_a_file_that_was_read_before_is_known(project: Path) -> None:
    agent = make_agent(scripted(READ, ANSWER, ANSWER), project)
    await agent.execute_query("Read src/app.py.")
    assert (await agent.execute_query("Explain src/app.py")).unverified == ()


@pytest.mark.parametrize(
    "look",
    [
        call("run_command", command="cat src/app.py"),
        call("run_command", command="grep -n add src/app.py"),
        call("search_files", pattern="def add"),
    ],
)
async def test_a_file_that_was_shown_in_another_way_is_known(project: Path, look: dict[str, Any]) -> None:
    agent = make_agent(scripted(look, ANSWER, ANSWER), project)
    await agent.execute_query("Where is add?")
    assert (await agent.execute_query("Explain src/app.py")).answer == ANSWER


async def test_what_the_user_shows_is_known(project: Path) -> None:
    agent = make_agent(scripted(*[ANSWER] * 3), project)
    pasted = "Explain this from src/app.py:\n\ndef add(a, b):\n    return a + b"
    assert (await agent.execute_query(pasted)).answer == ANSWER
    agent = make_agent(scripted(ANSWER), project)
    agent.offer_quoted("The user ran this outside the sandbox: cat src/app.py", "def add(a, b):\n    return a + b")
    assert (await agent.execute_query("Explain src/app.py")).answer == ANSWER
    agent = make_agent(scripted(ANSWER), project)
    piped = "\n\n<stdin>\nTraceback: line 2 in add\n</stdin>"
    events = [event async for event in agent.run("Explain the error in src/app.py", piped=piped)]
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].answer, remarks(agent)) == (ANSWER, [])


async def test_what_may_not_be_read_is_not_asked_for(project: Path) -> None:
    tools = make_tools(project, safety=SafetySettings(deny=("read_file(src/app.py)",)))
    agent = make_agent(scripted(ANSWER), project, tools=tools)
    assert (await agent.execute_query("Explain src/app.py")).unverified == ()
    assert remarks(agent) == []


OLD = call("read_file", file_path="規程.doc")
MADE_UP = "日当は1日3,000円です。"


@pytest.mark.parametrize(
    "second", ["規程.doc は読めませんでした。", "I cannot read 規程.doc.", "古い形式のため開けません。"]
)
async def test_a_file_that_could_not_be_read_is_not_quoted(project: Path, second: str) -> None:
    (project / "規程.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    agent = make_agent(scripted(OLD, MADE_UP, second), project)
    result = await agent.execute_query("規程.doc を読んで日当を教えて")
    assert remarks(agent) == ["[規程.doc could not be read. Say so, or find what it says otherwise.]"]
    assert (result.answer, result.unverified) == (second, ())


async def test_what_was_read_elsewhere_since_is_no_guess(project: Path) -> None:
    (project / "規程.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    agent = make_agent(scripted(OLD, READ, MADE_UP), project)
    await agent.execute_query("規程.doc を読んで日当を教えて")
    assert remarks(agent) == []


SHOT = call("read_file", file_path="shot.png")


@pytest.mark.parametrize(
    ("request_", "answer", "sees", "is_told"),
    [
        ("What is wrong in shot.png?", "It shows a login form with an error message.", False, True),
        ("What is in shot.png?", 'A login form with an error message "Invalid password".', False, True),
        ("What is in shot.png?", "In shot.png the error dialog cannot be closed.", False, True),
        ("shot.png には何が写っている?", "ログイン画面が写っています。エラーが見えます。", False, True),
        ("What is wrong in shot.png?", "It shows a login form with an error message.", True, False),
        ("What is wrong in shot.png?", "I cannot see pictures. What does it show?", False, False),
        ("shot.png には何が写っている?", "このモデルは画像を見られません。", False, False),
        ("How large is shot.png?", "It has 64 × 32 pixels.", False, False),
    ],
)
async def test_a_picture_that_the_model_cannot_see_is_not_described(
    project: Path, request_: str, answer: str, sees: bool, is_told: bool
) -> None:
    size = (64).to_bytes(4, "big") + (32).to_bytes(4, "big")
    (project / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + bytes(99))
    agent = make_agent(scripted(SHOT, answer, answer), project, tools=make_tools(project, sees=sees))
    result = await agent.execute_query(request_)
    assert remarks(agent) == (["[You cannot see shot.png. Say so.]"] if is_told else [])
    assert len(result.unverified) == is_told


SCREENSHOT = "スクリーンショット 2024-01-01.png"
MADE_UP_PICTURE = "スクリーンショットにはログイン画面が写っています。"


def picture(path: Path) -> None:
    size = (64).to_bytes(4, "big") + (32).to_bytes(4, "big")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + bytes(99))


@pytest.mark.parametrize(
    ("request_", "path"),
    [(f"「{SCREENSHOT}」には何が写っている?", SCREENSHOT), ("What is in img/shot.png?", "img/shot.png")],
)
async def test_a_picture_that_was_not_looked_at_is_not_described(project: Path, request_: str, path: str) -> None:
    picture(project / path)
    blind = "I cannot see pictures."
    looks = [call("list_files"), MADE_UP_PICTURE]
    for script in ([MADE_UP_PICTURE], looks):
        agent = make_agent(
            scripted(*script, call("read_file", file_path=path), blind), project, tools=make_tools(project, sees=False)
        )
        result = await agent.execute_query(request_)
        assert remarks(agent) == [f"[You have not read {path}. Read it, then answer.]"]
        assert (result.answer, result.unverified) == (blind, ())
    agent = make_agent(scripted(MADE_UP_PICTURE, MADE_UP_PICTURE), project)
    assert (await agent.execute_query(request_)).unverified == (f"{path} was not read",)


@pytest.mark.parametrize(("sees", "said"), [(False, ["[You cannot see shot.png. Say so.]"]), (True, []), (None, [])])
async def test_a_picture_in_the_request_is_not_described_by_a_model_that_is_not_shown_it(
    project: Path, sees: bool | None, said: list[str]
) -> None:
    picture(project / "shot.png")
    script = scripted(MADE_UP_PICTURE, "画像は見られません。")
    agent = make_agent(script, project, tools=make_tools(project, sees=sees))
    await agent.execute_query("Describe @shot.png")
    assert remarks(agent) == said


async def test_where_a_picture_is_known_or_need_not_be_seen_nothing_is_said(project: Path) -> None:
    picture(project / "shot.png")
    known = "shot.png shows the error 'Invalid password'. What is the cause?"
    for request_, answer, calls in (
        ("What is in shot.png?", "I cannot see pictures.", []),
        ("What is in shot.png?", "Please describe it to me. What does it show?", []),
        ("What is in shot.png?", "It shows a login form.", [call("run_command", command="file *.png")]),
        ("What is in shot.png?", "It shows a login form.", [call("run_command", command="tesseract shot.png -")]),
        ("How do I embed shot.png in README.md?", "![shot](shot.png)", []),
        ("What is in gone.png?", "gone.png does not exist.", []),
        (known, "The password is wrong.", []),
    ):
        agent = make_agent(scripted(*calls, answer), project)
        assert (await agent.execute_query(request_)).answer == answer
        assert remarks(agent) == []
