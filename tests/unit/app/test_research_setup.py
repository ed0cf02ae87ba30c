"""A Researcher made from settings: which model it asks, where it keeps things, and what it says where it cannot be."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from localllm.app.research_setup import (
    ResearchParts,
    ResearchSetup,
    model_settings,
    open_researcher,
    report_language,
)
from localllm.app.work_folder import work_folder
from localllm.base.errors import ConfigurationError, LLMConnectionError, ResearchUsageError
from localllm.base.i18n import set_language
from localllm.base.paths import cache_folder
from localllm.config.research_settings import ResearchSettings
from localllm.config.schema import LLMSettings, ServerSettings, Settings, UISettings, WebSettings
from localllm.llm.client import LLMClient
from localllm.lookup.engine import Embedded
from localllm.research.options import ResearchOptions
from localllm.research.records import ResearchState
from localllm.research.run_store import run_folder
from tests.research_web.played_models import HonestModel
from tests.research_web.served_model import ServedModel
from tests.research_web.server import ResearchWeb
from tests.support.research_parts import FakeReader, playing

pytestmark = pytest.mark.anyio

QUESTION = "What is the Marlin Reef beacon?"
NOBODY = "http://127.0.0.1:9"


def parts() -> ResearchParts:
    return ResearchParts(FakeReader)


def setup_at(folder: Path, url: str, **research: str) -> ResearchSetup:
    llm = LLMSettings(provider="openai", openai=ServerSettings(base_url=url))
    settings = Settings(llm=llm, research=ResearchSettings(**research))
    return ResearchSetup(
        settings=settings,
        root=folder,
        environ={"LOCALLLM_CACHE_DIR": str(folder / "caches")},
        work_folder=folder / "work",
    )


async def planned(setup: ResearchSetup, client: LLMClient | None = None) -> ResearchState:
    async with open_researcher(setup, ResearchOptions(), client=client, parts=parts()) as researcher:
        return await researcher.plan(QUESTION)


async def test_it_asks_the_model_of_the_settings_and_keeps_in_the_work_folder(tmp_path: Path) -> None:
    with ServedModel(HonestModel()) as server:
        state = await planned(setup_at(tmp_path, server.url))
    assert (state.model, len(state.queries), len(server.bodies)) == ("played", 3, 2)
    assert run_folder(tmp_path / "work", state.id).is_dir()


async def test_the_chats_model_is_asked_unless_another_is_named(tmp_path: Path) -> None:
    client, brain = playing({})
    state = await planned(setup_at(tmp_path, NOBODY), client)
    assert (state.model, bool(brain.requests)) == ("played", True)
    with ServedModel(HonestModel(), model="other") as server:
        brain.requests.clear()
        state = await planned(setup_at(tmp_path, server.url, model="other"), client)
    assert (state.model, brain.requests) == ("other", [])


@pytest.mark.parametrize(
    ("research", "model"),
    [({}, "chat"), ({"model": "big"}, "big"), ({"provider": "ollama"}, ""), ({"provider": "openai"}, "chat")],
)
def test_which_model(research: dict[str, str], model: str) -> None:
    settings = Settings(llm=LLMSettings(provider="openai", model="chat"), research=ResearchSettings(**research))
    assert model_settings(settings).model == model
    assert model_settings(settings).provider == research.get("provider", "openai")


@pytest.mark.parametrize(
    ("question", "asked", "interface", "expected"),
    [
        ("SQLite の WAL モードの利点と欠点は何ですか", "auto", "auto", "ja"),
        ("SQLite の WAL モードの利点と欠点は何ですか", "en", "auto", "en"),
        ("SQLite の WAL モードの利点と欠点は何ですか", "auto", "en", "en"),
        ("What does WAL mode cost?", "auto", "auto", "en"),
        ("What does すみません mean in English, and who would say so to whom?", "auto", "auto", "en"),
        ("SQLite的WAL模式有什么优点", "auto", "auto", "en"),
        ("What does WAL mode cost?", "ja", "en", "ja"),
    ],
)
def test_the_report_is_in_the_language_of_a_japanese_question(
    question: str, asked: Literal["auto", "ja", "en"], interface: Literal["auto", "ja", "en"], expected: str
) -> None:
    settings = Settings(ui=UISettings(language=interface))
    assert report_language(ResearchOptions(language=asked), settings, question) == expected


@pytest.mark.parametrize(
    ("question", "interface", "expected"),
    [
        ("What does WAL mode cost?", "auto", "en"),
        ("Compare SQLite with PostgreSQL", "auto", "en"),
        ("What does すみません mean in English, and who would say so to whom?", "auto", "en"),
        ("What does WAL mode cost?", "ja", "ja"),
        ("SQLite の WAL モードの利点", "auto", "ja"),
        ("SQLite WAL", "auto", "ja"),
        ("SQLite的WAL模式有什么优点", "auto", "ja"),
        ("量子誤り訂正 2025", "auto", "ja"),
        ("The Rust Foundationの歴史を教えて", "auto", "ja"),
    ],
)
def test_in_a_japanese_locale_the_report_is_in_the_language_of_an_english_question(
    question: str, interface: Literal["auto", "ja", "en"], expected: str
) -> None:
    set_language("ja")
    try:
        assert report_language(ResearchOptions(), Settings(ui=UISettings(language=interface)), question) == expected
    finally:
        set_language("en")


async def test_a_researcher_is_given_the_language_of_each_question(tmp_path: Path) -> None:
    client = playing({})[0]
    setup = setup_at(tmp_path, NOBODY)
    async with open_researcher(setup, ResearchOptions(), client=client, parts=parts()) as researcher:
        assert (await researcher.plan("WAL モードとは何ですか")).language == "ja"
        assert (await researcher.plan("What is WAL mode?")).language == "en"


async def test_without_a_model_nothing_is_searched(tmp_path: Path) -> None:
    with ResearchWeb() as web:
        setup = setup_at(tmp_path, NOBODY)
        searching = WebSettings(engines=("searxng",), searxng_url=web.search_url)
        setup = msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, web=searching))
        for client in (None, LLMClient(Embedded(tmp_path))):
            with pytest.raises(LLMConnectionError) as caught:
                await planned(setup, client)
            assert caught.value.exit_code == 5
        assert not web.queries
    assert not (tmp_path / "work").exists()


async def test_without_the_web_there_has_to_be_a_folder(tmp_path: Path) -> None:
    client, _brain = playing({})
    options = ResearchOptions(use_web=False)
    async with open_researcher(setup_at(tmp_path, NOBODY), options, client=client, parts=parts()) as researcher:
        with pytest.raises(ResearchUsageError, match="nothing to search"):
            await researcher.plan(QUESTION)


def test_no_command_can_write_what_was_found_and_noted(tmp_path: Path) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    setup = setup_at(tmp_path / "project", NOBODY)
    from_elsewhere = msgspec.structs.replace(setup, root=tmp_path / "elsewhere")
    for each in (setup, from_elsewhere):
        assert each.caches == cache_folder(each.environ) / "research"
        assert each.search_environ["LOCALLLM_CACHE_DIR"] == str(each.caches)
    outside = setup_at(tmp_path / "elsewhere", NOBODY)
    outside = msgspec.structs.replace(outside, root=tmp_path / "project")
    assert outside.caches == tmp_path / "elsewhere/work/cache"


async def test_a_run_in_a_project_keeps_no_searches_there(tmp_path: Path) -> None:
    with ResearchWeb() as web, ServedModel(HonestModel()) as server:
        setup = setup_at(tmp_path, server.url)
        searching = WebSettings(engines=("searxng",), searxng_url=web.search_url)
        setup = msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, web=searching))
        async with open_researcher(setup, ResearchOptions(), parts=parts()) as researcher:
            await researcher.run(QUESTION)
        assert web.queries
    assert not (tmp_path / "work/cache").exists()
    assert (tmp_path / "caches/research/searches.sqlite").is_file()


@pytest.mark.parametrize("link", ["work", "work/history"])
async def test_a_link_made_between_two_runs_leads_none_of_them_out(link: str, tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "private"
    root.mkdir()
    outside.mkdir()
    with ServedModel(HonestModel()) as server:
        setup = setup_at(root, server.url)
        await planned(setup)
        (root / link).rename(root / "moved")
        (root / link).symlink_to(outside)
        with pytest.raises(ConfigurationError, match="is a link"):
            await planned(setup)
    assert not list(outside.iterdir())


def test_the_work_folder(tmp_path: Path) -> None:
    environ = {"LOCALLLM_DATA_DIR": str(tmp_path / "data")}
    chosen = Settings(research=ResearchSettings(work_dir=str(tmp_path / "set")))
    assert work_folder(Settings(), environ) == tmp_path / "data"
    assert work_folder(chosen, environ) == tmp_path / "set"
    assert work_folder(chosen, environ, tmp_path / "given") == tmp_path / "given"
