"""Who orders the model to remember something is told how it is kept."""

from pathlib import Path

import pytest

from localllm.agent.checks.memory_hint import hint
from localllm.base.events import Notice
from localllm.tui.headless import HeadlessConfirmer
from tests.support.agents import Answering, call, make_agent, make_tools, play, scripted
from tests.support.each import each

pytestmark = pytest.mark.anyio
KEEP = "To keep it for later sessions: "


@each(
    ("request_", "command"),
    [
        ("Remember that the tests run with make test.", "/remember the tests run with make test"),
        ("Please remember: we use tabs", "/remember we use tabs"),
        ("OK. Can you memorize that x is 2?", ""),
        ("Memorise this for later: use uv", "/remember use uv"),
        ("テストは make test で実行することを覚えて", "/remember テストは make test で実行すること"),
        ("このプロジェクトはタブを使うと覚えておいてください。", "/remember このプロジェクトはタブを使う"),
        ("コミットは英語で書くことを忘れないで", "/remember コミットは英語で書くこと"),
        ("これを覚えておいて", "/remember TEXT"),
        ("Do you remember what we did?", ""),
        ("I remember that it failed.", ""),
        ("Add a checkbox that lets the browser remember the user.", ""),
        ("覚えていますか？", ""),
        ("覚えて使うコマンドを教えて", ""),
        ("前に話した内容を覚えている？", ""),
    ],
)
def test_what_orders_to_remember(request_: str, command: str) -> None:
    assert hint(request_, has_planned=False) == (KEEP + command if command else "")


def test_a_todo_that_was_dictated() -> None:
    for request in (
        "Put “write the docs” on my todo list",
        "TODO に「ドキュメントを書く」を入れて",
        "TODO リストに次の二つを追加：画像、リンク切れ",
        "明日やることをメモしておいて：画像",
    ):
        assert hint(request, has_planned=True) == f"{KEEP}/todo keep"
        assert hint(request, has_planned=False) == ""
    assert hint("Show the todo list", has_planned=True) == ""


TODO = call("todo", action="add", text="ドキュメントを書く")
LATER = "テストは make test で実行することを覚えて"


async def told(root: Path, request: str, *turns: dict[str, object] | str, is_chat: bool = True) -> list[str]:
    confirmer = Answering(approve=True) if is_chat else HeadlessConfirmer(approve_all=True)
    agent = make_agent(scripted(*turns), root, tools=make_tools(root, confirmer=confirmer))
    return [event.text for event in await play(agent, request) if isinstance(event, Notice)]


async def test_a_chat_tells_how_it_is_kept(tmp_path: Path) -> None:
    assert await told(tmp_path, LATER, "覚えました。") == [f"{KEEP}/remember テストは make test で実行すること"]
    assert await told(tmp_path, "TODO に「ドキュメントを書く」を入れて", TODO, "入れました。") == [f"{KEEP}/todo keep"]


async def test_a_one_shot_tells_that_its_list_ends_with_it(tmp_path: Path) -> None:
    said = await told(tmp_path, "TODO に「ドキュメントを書く」を入れて", TODO, "入れました。", is_chat=False)
    assert len(said) == 1
    assert "localllm --continue" in said[0]
    assert "/todo keep" in said[0]
    assert await told(tmp_path, "TODO を一覧にして", TODO, "入れました。", is_chat=False) == []


async def test_a_one_shot_and_a_run_that_wrote_it_tell_nothing(tmp_path: Path) -> None:
    assert await told(tmp_path, LATER, "覚えました。", is_chat=False) == []
    write = call("write_file", file_path="LOCALLLM.md", content="- make test\n")
    assert await told(tmp_path, LATER, write, "LOCALLLM.md に書きました。") == []
    assert await told(tmp_path, "Set x to 2.", "There is no x.") == []
