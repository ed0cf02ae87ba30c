"""Whole runs over the real tools: the engine asked in a small project, in English and Japanese."""

import os
import re
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.config.loader import load, run_with
from localllm.llm.messages import CompletionRequest, ToolSpec, UserMessage
from localllm.lookup.engine import Embedded
from tests.support.agents import Answering, make_agent, make_tools
from tests.unit.lookup.conftest import Ask, agent_in

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("where is the retry logic?", ["shop/net/retrying.py:8", "RetryPolicy", "How often a failed request"]),
        ("再試行の処理はどこ？", ["shop/net/retrying.py:8", "RetryPolicy"]),
        ("認証はどこで行われている？", ["shop/accounts.py:"]),
        ("how is a password checked?", ["shop/accounts.py:9", "Whether the password is right."]),
        ("what does class RetryPolicy do?", ["shop/net/retrying.py:8", "How often a failed request is repeated"]),
        ("RetryPolicy は何をする？", ["shop/net/retrying.py:8", "How often a failed request is repeated"]),
        ("where is formatBytes defined?", ["web/format-bytes.js:2", "Bytes as people read them."]),
        ("who calls with_retries?", ["shop/server.py:10"]),
        ("with_retries を呼び出しているのはどこ？", ["shop/server.py:10", "1 か所"]),
        ("which files import shop.net.retrying?", ["shop/server.py:3", "tests/test_retrying.py:3"]),
        ("what is the value of MAX_ATTEMPTS?", ["MAX_ATTEMPTS: int = 3", "shop/net/retrying.py:5"]),
        ("what is the default port of the server?", ["shop/server.py:5", "PORT = 8123"]),
        ("where does 'No such table: 17, ask the owner' come from?", ["shop/server.py:11", "No such table"]),
        ("「No such table」というエラーはどこから？", ["shop/server.py:11"]),
        ("what is this project about?", ["README.md:3", "sells apples over HTTP"]),
        ("このプロジェクトは何？", ["README.md:3", "pyproject.toml:3"]),
        ("what is in shop/accounts.py?", ["shop/accounts.py:1", "LoginForm", "shop/accounts.py:9"]),
        ("explain shop/net/retrying.py:13", ["shop/net/retrying.py:13", "RetryPolicy.wait_before"]),
        ("what is in shop/?", ["The shop itself.", "shop/server.py"]),
        ("list the functions in shop/accounts.py", ["shop/accounts.py:4", "shop/accounts.py:9"]),
        ("what methods does RetryPolicy have?", ["shop/net/retrying.py:11", "wait_before"]),
        ("which classes inherit from TestCase?", ["tests/test_retrying.py:6"]),
        ("net フォルダには何がある？", ["shop/net/retrying.py"]),
        ("how many python files are there?", ["7", "Python"]),
        ("テストはどこ？", ["tests/test_retrying.py:1"]),
        ("where are the tests for retrying?", ["tests/test_retrying.py:6"]),
        ("are there any TODOs?", ["shop/accounts.py:5", "lock after five failures"]),
        ("how do I install it?", ["pip install shop", "README.md:7"]),
        ("how do I run this?", ["python3 -m shop", "README.md:9"]),
    ],
)
async def test_answers_with_places(ask: Ask, question: str, parts: list[str]) -> None:
    result = await ask(question)

    assert result.status == "done"
    assert [part for part in parts if part not in result.answer] == [], result.answer


async def test_what_is_to_be_done_is_what_the_notes_say_then_what_the_code_does(ask: Ask, shop: Path) -> None:
    (shop / "LOCALLLM.md").write_text(
        "## TODO\n- [ ] Write the docs\n- [~] ログインを直す\n- [x] Open the shop\n", "utf-8"
    )

    answer = (await ask("what is left to do?")).answer

    assert "Open the shop" not in answer
    parts = ["ログインを直す", "Write the docs", "shop/accounts.py:5"]
    assert sorted(parts, key=answer.index) == parts


@pytest.mark.parametrize(
    "question",
    [
        "where is the Kafka consumer?",
        "二要素認証（TOTP）の実装はどこ？",
        "who maintains the billing database?",
        "給与計算はどこ？",
        "where does 'Disk quota exceeded for tenant' come from?",
        "what is FlurbFactory?",
        "what is the capital of France?",
        "write me a poem",
    ],
)
async def test_what_is_not_there_is_not_said_to_be(ask: Ask, question: str) -> None:
    """No place is named, or "not sure" stands above them."""
    answer = (await ask(question)).answer

    before_the_first_place = re.split(r"\w+\.(?:py|md|js|toml):", answer)[0]
    assert (
        before_the_first_place == answer
        or "not sure" in before_the_first_place
        or "確かではありません" in before_the_first_place
    )
    assert len(answer) > 30


async def test_the_answer_is_in_the_language_of_the_question(ask: Ask) -> None:
    assert "見つかりませんでした" in (await ask("薔薇窓の描画はどこ？")).answer
    assert "I found nothing" in (await ask("where is the rose window drawn?")).answer


async def test_questions_that_point_back(ask: Ask) -> None:
    called = await ask("what is RetryPolicy?", "and where is it used?")
    what = await ask("with_retries はどこ？", "その関数は何をする？")

    assert "shop/net/retrying.py:18" in called.answer
    assert "Call again while the connection fails." in what.answer


async def test_this_is_the_file_that_was_named(ask: Ask) -> None:
    assert "shop/accounts.py:1" in (await ask("@shop/accounts.py explain this")).answer


async def test_secrets_are_named_and_not_shown(ask: Ask) -> None:
    for question in ("what is PAYMENT_KEY?", "where is PAYMENT_KEY used?", "explain .env", "where is the payment key?"):
        assert "live_5t0l3n" not in (await ask(question)).answer


async def test_hello_and_thanks(ask: Ask) -> None:
    assert "where is the retry logic" in (await ask("hello")).answer
    assert "どういたしまして" in (await ask("ありがとう")).answer


async def test_an_empty_project(tmp_path: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()

    result = await agent_in(root).execute_query("where is the retry logic?")

    assert result.answer.startswith("There are no files here yet")


async def test_commits_and_changes(committed: Path) -> None:
    agent = agent_in(committed)

    log = await agent.execute_query("summarise the last two commits")
    (committed / "shop/server.py").write_text("PORT = 1\n", encoding="utf-8")
    (committed / ".env").write_text("PAYMENT_KEY=other\n", encoding="utf-8")
    changes = await agent.execute_query("何が変わった？")

    assert "Sell apples" in log.answer
    assert "Open the shop" in log.answer
    assert "+PORT = 1" in changes.answer
    assert "other" not in changes.answer


async def test_without_git(ask: Ask) -> None:
    assert "not in a git repository" in (await ask("what changed in the last commit?")).answer


async def test_creating_a_file(ask: Ask, shop: Path) -> None:
    result = await ask('create a file notes/a.txt with the content "buy milk"')

    assert (shop / "notes/a.txt").read_text(encoding="utf-8") == "buy milk"
    assert "notes/a.txt" in result.answer


@pytest.mark.parametrize(
    ("request_", "name", "expected"),
    [
        ("shop/server.py の「8123」を「9000」に置き換えて", "shop/server.py", "PORT = 9000"),
        (
            "README.md の末尾に「ライセンス: MIT」という行を追加して",
            "README.md",
            "`python3 -m shop`.\nライセンス: MIT\n",
        ),
    ],
)
async def test_editing(ask: Ask, shop: Path, request_: str, name: str, expected: str) -> None:
    result = await ask(request_)

    assert result.status == "done", result.answer
    assert expected in (shop / name).read_text(encoding="utf-8"), result.answer


async def test_windows_line_ends_are_kept(ask: Ask, shop: Path) -> None:
    (shop / "w.txt").write_bytes(b"one\r\ntwo\r\n")

    await ask('append "three" to w.txt')

    assert (shop / "w.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"


def contents(root: Path) -> dict[Path, bytes]:
    """What is in the project's own files."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".localllm" not in path.parts}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("create a.txt", "what shall a.txt contain"),
        ('replace "nowhere" with "x" in README.md', "does not contain"),
        ('append "x" to absent.txt', "no absent.txt"),
        ('create README.md with the content "x"', "exists already"),
        ("commit", "commit message"),
        ("run the command", "which command"),
        ('append "x" to README.md and commit', "one instruction at a time"),
    ],
)
async def test_what_is_unclear_is_not_done(ask: Ask, shop: Path, request_: str, said: str) -> None:
    before = contents(shop)

    result = await ask(request_)

    assert said in result.answer
    assert contents(shop) == before


async def test_a_no_is_accepted(ask: Ask, shop: Path) -> None:
    no = Answering(approve=False, feedback="not now")

    result = await ask('append "x" to README.md', confirmer=no)

    assert len(no.asked) == 1
    assert "not now" in result.answer
    assert (shop / "README.md").read_text(encoding="utf-8").endswith("`python3 -m shop`.\n")


async def test_running_a_command_tells_how_it_ended(ask: Ask) -> None:
    result = await ask("run `echo apples; exit 3`")

    assert "3" in result.answer
    assert "apples" in result.answer


async def test_running_the_tests(ask: Ask) -> None:
    result = await ask("テストを実行して")

    assert "unittest" in result.answer
    assert "OK" in result.answer, result.answer
    assert "Ran 1 test" in result.answer


async def test_a_commit(committed: Path) -> None:
    (committed / "README.md").write_text("# New\n", encoding="utf-8")

    result = await agent_in(committed).execute_query('commit with the message "Say it anew"')

    assert "Say it anew" in result.answer


async def test_without_the_tool_it_says_so(shop: Path) -> None:
    tools = make_tools(shop, tools=())

    result = await make_agent(Embedded(shop), shop, tools=tools).execute_query("run `ls`")

    assert "run_command" in result.answer


async def test_a_pasted_traceback_is_followed_into_the_project(ask: Ask) -> None:
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/srv/ann/shop/shop/__main__.py", line 3, in <module>\n    serve()\n'
        '  File "/srv/ann/shop/shop/server.py", line 11, in serve\n    raise RuntimeError\n'
        "RuntimeError: No such table: 8123, ask the owner"
    )

    result = await ask(f"what is this?\n\n<stdin>\n{traceback}\n</stdin>")

    assert result.answer.index("shop/server.py:11") < result.answer.index("shop/__main__.py:3")


async def test_a_line_number_without_end_is_no_line(ask: Ask) -> None:
    traceback = f'  File "shop/server.py", line {"9" * 5_000}, in serve\nRuntimeError: No such table: 8123\n'

    result = await ask(
        f"what causes this error?\n\n<stdin>\n{traceback}{traceback}shop/net/a.py:{'9' * 5_000}\n</stdin>"
    )

    assert "shop/server.py" in result.answer


PYTEST = """\
    def test_waits_longer(self):
>       self.assertLess(RetryPolicy().wait_before(1), RetryPolicy().wait_before(0))
E       AssertionError: 2.0 not less than 1.0

tests/test_retrying.py:8: AssertionError
FAILED tests/test_retrying.py::RetryTest::test_waits_longer - AssertionError
"""
PYTEST_PLAIN = """\
>       assert RetryPolicy().wait_before(1) == 5
E       assert 2.0 == 5

tests/test_retrying.py:8: AssertionError
"""
PYTEST_SHORT = "tests/test_retrying.py:8: in test_it\n    assert policy.wait_before(1) == 5\nE   assert 2 == 5\n"


@pytest.mark.parametrize("output", [PYTEST, PYTEST_PLAIN, PYTEST_SHORT])
async def test_what_pytest_prints_is_followed_into_the_project(ask: Ask, output: str) -> None:
    result = await ask(f"what is this?\n\n<stdin>\n{output}\n</stdin>")

    assert "- tests/test_retrying.py:8" in result.answer
    assert "README.md" not in result.answer


async def test_a_name_in_small_letters_is_a_class_rather_than_a_variable_of_a_test(tmp_path: Path) -> None:
    for name, text in (
        ("shop/cart.py", "class Cart:\n    pass\n"),
        ("tests/test_cart.py", "from shop.cart import Cart\n\n\ndef test_it():\n    cart = Cart()\n    assert cart\n"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")

    answers = [(await agent_in(tmp_path).execute_query(asked)).answer for asked in ("cart", "cart はどこ？")]

    assert [answer.partition("\n")[0] for answer in answers] == ["`Cart` — shop/cart.py:1"] * 2


async def test_what_a_file_of_secrets_holds_is_not_said_to_be_nowhere(ask: Ask) -> None:
    answer = (await ask("what is the PAYMENT_KEY in .env?")).answer

    assert answer == ".env (not shown: it may hold secrets)"


async def test_a_hundred_kilobytes_of_paste_are_no_hindrance(ask: Ask) -> None:
    result = await ask("x = 1  # filler\n" * 6_000 + "\nwhere is the retry logic?")

    assert "shop/net/retrying.py:8" in result.answer


@pytest.mark.parametrize("is_denied", [True, False])
async def test_an_order_for_a_file_that_a_rule_closes_quotes_nothing(
    shop: Path, tmp_path: Path, *, is_denied: bool
) -> None:
    (tmp_path / "config").mkdir()
    if is_denied:
        (tmp_path / "config/localllm.toml").write_text('[safety]\ndeny = ["read_file(shop/accounts.py)"]\n')
    environ = {**os.environ, "LOCALLLM_CONFIG_DIR": str(tmp_path / "config")}
    sent = UserMessage('append "X = 1" to shop/./accounts.py')
    tools = [ToolSpec("edit_file", "", {})]
    request = CompletionRequest(model="", messages=[sent], tools=tools)
    step = [chunk async for chunk in Embedded(shop, environ).stream(request)]
    assert ("return True" in str(step)) is not is_denied


DENIED = '[safety]\ndeny = ["read_file(shop/accounts.py)", "read_file(pyproject.toml)", "read_file(secrets/)"]\n'


async def asked_of(engine: Embedded, question: str) -> str:
    request = CompletionRequest(model="", messages=[UserMessage(question)], tools=[])
    return str([chunk async for chunk in engine.stream(request)])


async def test_settings_that_break_while_the_program_runs_open_nothing(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "config/localllm.toml"
    file.parent.mkdir()
    environ = {**os.environ, "LOCALLLM_CONFIG_DIR": str(file.parent)}
    file.write_text(DENIED)
    run_with(load(shop, environ=environ).settings, shop)
    file.write_text(f"{DENIED}[ui")
    engine = Embedded(shop, environ)
    assert "accounts.py" not in await asked_of(engine, "how is a password checked?")


async def test_settings_that_are_broken_are_an_error(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "config/localllm.toml"
    file.parent.mkdir()
    file.write_text(f"{DENIED}[ui")
    engine = Embedded(shop, {**os.environ, "LOCALLLM_CONFIG_DIR": str(file.parent)})
    with pytest.raises(ConfigurationError):
        await asked_of(engine, "how is a password checked?")


async def test_nothing_closed_is_told_under_another_name_or_of_manifests_and_notes(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "config/localllm.toml"
    file.parent.mkdir()
    file.write_text(DENIED)
    (shop / "secrets").mkdir()
    (shop / "secrets/db.md").write_text("# Database\n\nThe database password is hunter2.\n")
    (shop / "secrets/n.md").write_text("# Notes\n\n## Decisions\n\n- 2026-01-01 hunter2 decided\n")
    (shop / "hard.md").hardlink_to(shop / "secrets/db.md")
    (shop / "LOCALLLM.md").symlink_to("secrets/n.md")
    (shop / "pyproject.toml").write_text('[project]\nname = "shop"\ndescription = "hunter2 sells"\n')
    engine = Embedded(shop, {**os.environ, "LOCALLLM_CONFIG_DIR": str(file.parent)})
    for question in ("What is the database password?", "what was decided?", "what does the project do?"):
        assert "hunter2" not in await asked_of(engine, question)
    file.write_text("")
    for question in ("What is the database password?", "what was decided?", "what does the project do?"):
        assert "hunter2" in await asked_of(engine, question)
