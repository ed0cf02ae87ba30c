"""What an edit has written is looked at once, in the result of the edit."""

from pathlib import Path
from typing import Any

import pytest

from localllm.agent.react_agent import ReActAgent
from localllm.llm.messages import ToolMessage, UserMessage
from tests.support.agents import call, make_agent, scripted

pytestmark = pytest.mark.anyio

CODE = "def f(x):\n    return x + 1\n"
READ = call("read_file", file_path="a.py")
FROM = "Write it in "


def docstring(text: str) -> dict[str, Any]:
    return call("edit_file", file_path="a.py", old_string="def f(x):", new_string=f'def f(x):\n    """{text}"""')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(CODE)
    return folder


def remarks(agent: ReActAgent) -> list[str]:
    results = [one.text for one in agent.history.messages if isinstance(one, ToolMessage)]
    return [line for text in results for line in text.splitlines() if FROM in line]


@pytest.mark.parametrize(
    ("request_", "text", "meant"),
    [
        ("a.py の f に docstring を付けて", "将 x 加一并返回。", "Japanese"),
        ("a.py の f に日本語の docstring を付けて", "Add one to x.", "Japanese"),
        ("Add an English docstring to f in a.py", "x に 1 を足す。", "English"),
    ],
)
async def test_text_in_the_wrong_language_is_said_once(project: Path, request_: str, text: str, meant: str) -> None:
    again = call("write_file", file_path="b.py", content=f'"""{text}"""\n')
    agent = make_agent(scripted(READ, docstring(text), again, "終わりました。"), project)
    await agent.execute_query(request_)
    said = remarks(agent)
    assert len(said) == 1
    assert said[0].startswith("[a.py now has text in ")
    assert text.rstrip("。.") in said[0]
    assert said[0].endswith(f"{FROM}{meant}.]")


async def test_where_the_wanted_text_was_written_other_files_may_be_in_another_language(project: Path) -> None:
    test = call("write_file", file_path="test_a.py", content='def test_f():\n    """Check that one is added."""\n')
    agent = make_agent(scripted(READ, docstring("1 を足す。"), test, "付けました。"), project)
    await agent.execute_query("a.py の f に日本語の docstring を付けて、テストも書いて")
    assert remarks(agent) == []


async def test_lines_that_were_there_are_not_taken_for_new_ones(project: Path) -> None:
    (project / "a.py").write_text("# 返回 x 加一的结果\n" + CODE)
    edit = call("edit_file", file_path="a.py", old_string=CODE, new_string=CODE.replace("1", "2"))
    agent = make_agent(scripted(call("run_command", command="true"), READ, edit, "直しました。"), project)
    await agent.execute_query("a.py の f が 2 を足すように直して")
    assert remarks(agent) == []


MINUTES = "# 議事録\n\n- 公開日は5月20日\n- 予算は320万円\n\n- 佐藤: 見積書を4月8日まで\n- 田中: 告知文を4月17日まで\n"
READ_MINUTES = call("read_file", file_path="議事録.md")


@pytest.fixture
def minutes(project: Path) -> Path:
    (project / "議事録.md").write_text(MINUTES)
    return project


async def test_a_number_of_an_extract_that_its_source_lacks_is_said_in_the_result(minutes: Path) -> None:
    wrong = call("write_file", file_path="todo.md", content="- 佐藤: 見積書(4/8)\n- 田中: 告知文(4月27日)\n")
    right = call("edit_file", file_path="todo.md", old_string="4月27日", new_string="4/17")
    done = "2件を書き出しました。"
    agent = make_agent(scripted(READ_MINUTES, wrong, right, done), minutes)
    result = await agent.execute_query("議事録.md から宿題だけ todo.md に抜き出して")
    said = [one.text.splitlines()[-1] for one in agent.history.messages if isinstance(one, ToolMessage)]
    assert said[1] == "[todo.md has numbers that are not in 議事録.md: 4月27日. Correct what is wrong.]"
    assert (result.answer, result.unverified) == (done, ())

    (minutes / "todo.md").unlink()
    agent = make_agent(scripted(READ_MINUTES, wrong, done), minutes)
    result = await agent.execute_query("議事録.md から宿題だけ todo.md に抜き出して")
    assert result.unverified == ("4月27日 is in todo.md, but not in 議事録.md",)


async def test_the_items_that_an_answer_counts_are_in_the_file(minutes: Path) -> None:
    less = call("write_file", file_path="todo.md", content="- 佐藤: 見積書\n")
    more = call("edit_file", file_path="todo.md", old_string="見積書", new_string="見積書\n- 田中: 告知文")
    done = "2件の宿題を書き出しました。"
    agent = make_agent(scripted(READ_MINUTES, less, done, more, done), minutes)
    result = await agent.execute_query("議事録.md から宿題だけ todo.md に抜き出して")
    assert ((minutes / "todo.md").read_text().count("- "), result.unverified) == (2, ())
    (minutes / "todo.md").unlink()
    agent = make_agent(scripted(READ_MINUTES, less, done, done), minutes)
    result = await agent.execute_query("議事録.md から宿題だけ todo.md に抜き出して")
    assert result.unverified == ("the answer says 2件, but todo.md has 1",)


async def test_a_number_of_a_summary_that_its_source_lacks_is_doubted_once(minutes: Path) -> None:
    wrong, right = "公開は5月12日、予算は320万円です。", "公開は5月20日、予算は3,200,000円です。"
    agent = make_agent(scripted(READ_MINUTES, wrong, right), minutes)
    result = await agent.execute_query("議事録.md を要約して")
    assert (result.answer, result.unverified) == (right, ())
    agent = make_agent(scripted(READ_MINUTES, wrong, wrong), minutes)
    result = await agent.execute_query("議事録.md を要約して")
    assert (result.status, result.unverified) == ("done", ("5月12日 is not in 議事録.md",))


@pytest.mark.parametrize(
    ("request_", "read"),
    [
        ("議事録.md を要約して", call("read_file", file_path="議事録.md", end_line=4)),  # the rest may have it
        ("議事録.md を要約して、次の日程の案も", READ_MINUTES),
        ("a.py を要約して", READ),
    ],
)
async def test_numbers_that_may_come_from_elsewhere_are_believed(
    minutes: Path, request_: str, read: dict[str, Any]
) -> None:
    agent = make_agent(scripted(read, "公開は5月12日です。"), minutes)
    assert (await agent.execute_query(request_)).unverified == ()


def in_english(budget: str) -> dict[str, Any]:
    tasks = "- Sato: quote by April 8\n- Tanaka: text by April 17\n"
    text = f"# Minutes\n\n- Release: May 20\n- Budget: {budget} yen\n\n{tasks}"
    return call("write_file", file_path="議事録.md", content=text)


@pytest.mark.parametrize(("budget", "strange"), [("3.2 million", []), ("3.6 million", ["3.6 million yen"])])
async def test_a_file_translated_in_place_is_compared_with_what_it_was(
    minutes: Path, budget: str, strange: list[str]
) -> None:
    (minutes / "README.md").write_text("# 説明\n\n会議の記録です。\n")
    readme = call("write_file", file_path="README.md", content="# About\n\nThe minutes of meetings.\n")
    turns = [call("read_file", file_path="README.md"), readme, READ_MINUTES, in_english(budget), READ_MINUTES]
    agent = make_agent(scripted(*turns, "Translated."), minutes)
    result = await agent.execute_query("README.md と 議事録.md を英語に翻訳して")
    assert [*result.unverified] == [f"{one} is in 議事録.md, but not in README.md, 議事録.md" for one in strange]


GUIDE = (
    "# Guide\n\n## Installing\n\n- Unpack it\n- Run `make`\n\n## Upgrading\n\nSee [the site](https://example.org/up).\n"
)
READ_GUIDE = call("read_file", file_path="guide.md")
WHOLE = "# 手引き\n\n## 導入\n\n- 展開します\n- `make` を実行します\n\n## 更新\n\n[サイト](https://example.org/up)を参照。\n"


def translation(content: str, path: str = "guide.ja.md") -> dict[str, Any]:
    return call("write_file", file_path=path, content=content)


def said_in(agent: ReActAgent) -> list[str]:
    said = [one.text for one in agent.history.messages if isinstance(one, UserMessage)]
    return [text for text in said if " lacks what " in text]


async def test_a_translation_is_to_have_the_parts_of_its_source(project: Path) -> None:
    (project / "guide.md").write_text(GUIDE)
    less = translation(WHOLE.partition("## 更新")[0])
    remark = (
        "[guide.ja.md lacks what guide.md has: heading “Upgrading”. Translate that, too, or say why it is left out.]"
    )
    for script, unverified in (
        ([less, "訳しました。", translation(WHOLE), "訳しました。"], ()),
        ([less, "訳しました。", "訳しました。"], ("guide.ja.md lacks parts of guide.md: “Upgrading”",)),
    ):
        (project / "guide.ja.md").unlink(missing_ok=True)
        agent = make_agent(scripted(READ_GUIDE, *script), project)
        result = await agent.execute_query("guide.md を日本語に訳して guide.ja.md に保存して")
        assert (said_in(agent), result.unverified) == ([remark], unverified)


@pytest.mark.parametrize(
    ("request_", "script"),
    [
        ("guide.md を日本語に訳して guide.ja.md に保存して", [translation(WHOLE), "訳しました。"]),
        ("guide.md を日本語に訳して ja/手引き.md に", [translation(WHOLE, "ja/手引き.md"), "訳しました。"]),
        ("guide.md を日本語に訳して", [translation("# 手引き\n"), "Upgrading の節は省きました。"]),
        ("guide.md の Installing の節だけ訳して a.md に", [translation("## 導入\n", "a.md"), "訳しました。"]),
        ("Translate the first section of guide.md", [translation("# 手引き\n", "a.md"), "Translated it."]),
        ("guide.md を要約して訳を a.md に", [translation("# 手引き\n", "a.md"), "書きました。"]),
        ("Translate guide.md and note it", [translation(WHOLE), translation("# News\n", "b.md"), "Translated it."]),
    ],
)
async def test_what_is_whole_or_is_not_to_be_is_not_doubted(
    project: Path, request_: str, script: list[dict[str, Any] | str]
) -> None:
    (project / "guide.md").write_text(GUIDE)
    agent = make_agent(scripted(READ_GUIDE, *script), project)
    result = await agent.execute_query(request_)
    assert said_in(agent) == []
    assert not any("lacks" in one for one in result.unverified)


async def test_a_translation_that_is_written_in_parts_is_looked_at_when_it_is_whole(project: Path) -> None:
    (project / "guide.md").write_text(GUIDE)
    first, last = "# 手引き\n\n## 導入\n\n- 展開します\n", WHOLE.partition("展開します\n")[2]
    rest = call("edit_file", file_path="guide.ja.md", old_string="- 展開します\n", new_string="- 展開します\n" + last)
    agent = make_agent(scripted(READ_GUIDE, translation(first), rest, "Translated it."), project)
    await agent.execute_query("Translate guide.md into Japanese as guide.ja.md")
    assert (said_in(agent), (project / "guide.ja.md").read_text()) == ([], WHOLE)


README = "# A\n\n```sh\npip install -r requirements.txt\n```\n\n```python\nimport a\n\na.f(1)\na.g(2)\n```\n"
LACKS = "README.md names what the project does not have: "
NAMED = f"[{LACKS}requirements.txt, a.g. Correct it, or say in the text how it is made.]"


def results_of(agent: ReActAgent) -> list[str]:
    texts = [one.text for one in agent.history.messages if isinstance(one, ToolMessage)]
    return [line for text in texts for line in text.splitlines() if " names what " in line]


async def test_a_readme_that_names_what_the_project_lacks_is_remarked_once(project: Path) -> None:
    wrong = call("write_file", file_path="README.md", content=README)
    less = call("write_file", file_path="README.md", content=README.replace("a.g(2)", "a.h(2)"))
    right = call("write_file", file_path="README.md", content="# A\n\n```python\nimport a\n\na.f(1)\n```\n")
    told = call(
        "edit_file",
        file_path="README.md",
        old_string="# A\n",
        new_string="# A\n\nrequirements.txt is made by `make`.\n",
    )
    for script, unverified in (
        ([wrong, right], ()),
        ([wrong], (LACKS + "requirements.txt, a.g",)),
        ([wrong, less], (LACKS + "requirements.txt",)),
        ([wrong, told], (LACKS + "a.g",)),
    ):
        (project / "README.md").unlink(missing_ok=True)
        agent = make_agent(scripted(READ, *script, "I wrote README.md."), project)
        result = await agent.execute_query("Write a README.md for this project from the code")
        assert results_of(agent) == [NAMED]
        assert tuple(one for one in result.unverified if one.startswith("README.md names")) == unverified


@pytest.mark.parametrize(
    ("request_", "script"),
    [
        (
            "Write a README.md for this project",
            [call("write_file", file_path="README.md", content="# A\n\n`a.f(1)`\n")],
        ),
        ("Create a script g.py and a README.md", [call("write_file", file_path="README.md", content=README)]),
        ("Write a plan into plan.md", [call("write_file", file_path="plan.md", content=README)]),
        (
            "Write the README; requirements.txt and a.g come later",
            [call("write_file", file_path="README.md", content=README)],
        ),
        (
            "Add a licence to the README",
            [call("edit_file", file_path="README.md", old_string="# Old\n", new_string="# Old\n\nMIT\n")],
        ),
    ],
)
async def test_a_document_of_what_is_there_or_is_to_come_is_not_remarked(
    project: Path, request_: str, script: list[dict[str, Any]]
) -> None:
    if "Add a" in request_:
        (project / "README.md").write_text("# Old\n" + README)
    read = [call("read_file", file_path="README.md")] if "Add a" in request_ else []
    agent = make_agent(scripted(READ, *read, *script, "Done."), project)
    await agent.execute_query(request_)
    assert results_of(agent) == []
