"""/analyze, over real projects."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from localllm.base.cache import CacheManager
from localllm.base.i18n import set_language
from localllm.project.analyzer import ProjectAnalyzer
from localllm.project.facts import ProjectAnalysis
from localllm.text.sanitising import display_width
from localllm.tui.commands.builtin import COMMANDS
from localllm.tui.commands.registry import SlashCall, SlashCommand, SlashRegistry
from localllm.tui.render.screen import Screen
from localllm.tui.theme import Theme
from tests.support import project_trees as trees
from tests.support.project_trees import plant

pytestmark = pytest.mark.anyio


class Chat:
    """A chat in a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._caches = CacheManager()

    async def analyze(self) -> ProjectAnalysis:
        return await ProjectAnalyzer(self.root, caches=self._caches).analyze()


@pytest.fixture
def japanese() -> Iterator[None]:
    set_language("ja")
    yield
    set_language("en")


async def said(chat: Chat, line: str = "analyze") -> list[str]:
    stream = StringIO()
    registry = SlashRegistry(COMMANDS, {})
    name, _, arguments = line.partition(" ")
    found = registry.find(name)
    assert isinstance(found, SlashCommand)
    made: Any = chat
    await found.handler(SlashCall(arguments, made, Screen(stream, Theme(plain=True)), registry))
    return stream.getvalue().splitlines()


async def test_it_shows_what_the_project_is(tmp_path: Path) -> None:
    lines = await said(Chat(plant(tmp_path, trees.MONOREPO)))
    text = "\n".join(" ".join(line.split()) for line in lines)
    for wanted in ("Language TypeScript", "Package packages/web/ @acme/web, tests: yarn test", "Directory structure"):
        assert wanted in text
    assert "<!--" not in text
    assert "/init keeps this in LOCALLLM.md" in text


@pytest.mark.usefixtures("japanese")
async def test_it_fits_the_screen_in_japanese(tmp_path: Path) -> None:
    tree = {**trees.NEXT, "とても長い名前のフォルダ/" * 3 + "a.ts": "export const a = 1;\n" * 40}
    lines = await said(Chat(plant(tmp_path, tree)))
    assert any(line.startswith("  テスト") and "pnpm test（package.json）" in line for line in lines)
    assert max(map(display_width, lines)) <= 80


async def test_an_empty_folder_and_words(tmp_path: Path) -> None:
    assert "There are no files here yet." in (await said(Chat(tmp_path)))[-1]
    assert "/map WORDS" in " ".join(await said(Chat(tmp_path), "analyze the login"))
