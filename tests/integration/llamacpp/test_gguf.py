"""The gguf provider: a model file is all there is."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from localllm.app.server_check import find_out
from localllm.base.errors import LLMConnectionError
from localllm.config.schema import GgufSettings, LLMSettings
from localllm.llm.client import LLMClient
from localllm.llm.discovery.servers import Server
from localllm.llm.factory import make_provider
from localllm.llm.gguf.provider import USUAL_WINDOW, WORTH_TELLING, Gguf
from localllm.llm.messages import CompletionRequest, UserMessage
from localllm.llm.providers.base import MessageAssembler
from tests.integration.llamacpp.conftest import ModelFile
from tests.support.llama import asks
from tests.support.tiny_gguf import WINDOW, make_tiny_gguf

pytestmark = pytest.mark.anyio


def settings_for(file: Path, window: int = 0, parallel: int = 1) -> LLMSettings:
    gguf = GgufSettings(file=str(file), threads=1, parallel=parallel)
    return LLMSettings(provider="gguf", context_window=window, gguf=gguf)


@asynccontextmanager
async def opened(file: Path, window: int = 0, parallel: int = 1) -> AsyncIterator[Gguf]:
    provider = make_provider(settings_for(file, window, parallel), Path(), os.environ)
    assert isinstance(provider, Gguf)
    async with aclosing(provider):
        yield provider


async def said(provider: Gguf, request: CompletionRequest) -> str:
    gathered = MessageAssembler()
    async for chunk in provider.stream(request):
        gathered.add(chunk)
    return gathered.text


async def test_the_first_request_starts_it_and_later_ones_share_it(model_file: ModelFile) -> None:
    async with opened(model_file("plain")) as provider:
        assert provider.pid is None
        first = await said(provider, asks("Talk"))
        pid = provider.pid
        assert first
        assert await said(provider, asks("Talk")) == first
        assert provider.pid == pid
    assert provider.pid is None


async def test_one_that_has_died_is_started_anew(model_file: ModelFile) -> None:
    async with opened(model_file("plain")) as provider:
        await said(provider, asks("Talk"))
        assert provider.pid
        os.kill(provider.pid, signal.SIGKILL)
        os.waitid(os.P_PID, provider.pid, os.WEXITED | os.WNOWAIT)
        assert await said(provider, asks("Talk"))


async def test_requests_that_come_together_start_it_once(model_file: ModelFile) -> None:
    async with opened(model_file("plain")) as provider:
        texts = await asyncio.gather(*(said(provider, asks("Talk")) for _ in range(3)))
    assert all(texts)


async def test_it_is_described_by_the_server_and_by_the_file(model_file: ModelFile) -> None:
    async with opened(model_file("calling"), window=2_048) as provider:
        [listed] = await provider.list_models()
        described = await provider.describe(listed.id)
    assert listed.id == "calling.gguf"
    assert (described.context_window, described.max_context_window) == (2_048, WINDOW)
    assert (described.loaded, described.parameters, described.quantization) == (True, "tiny", "all F32")
    assert described.abilities == {"tools"}


@pytest.mark.parametrize(("parallel", "free"), [(1, []), (2, [0, 1])])
async def test_of_several_conversations_one_has_a_slot_to_spare(
    model_file: ModelFile, parallel: int, free: list[int]
) -> None:
    async with opened(model_file("plain"), parallel=parallel) as provider:
        assert await provider.free_slot() is None
        await provider.describe(provider.model)
        await said(provider, asks("Talk"))
        slot = await provider.free_slot()
        assert (slot in free) if free else slot is None
        await said(provider, asks("Talk of something else", slot=slot))
        assert await provider.free_slot() in ([other for other in free if other != slot] or [None])


async def test_the_window_is_never_more_than_the_model_was_made_for(model_file: ModelFile) -> None:
    assert WINDOW < USUAL_WINDOW
    async with opened(model_file("plain")) as provider:
        assert (await provider.describe("m")).context_window == WINDOW


async def test_while_it_is_loading_the_file_tells_and_the_request_waits(model_file: ModelFile) -> None:
    async with opened(model_file("plain"), window=512) as provider:
        describing = asyncio.create_task(provider.describe("m"))
        while provider.pid is None:
            await asyncio.sleep(0)
        os.kill(provider.pid, signal.SIGSTOP)  # as slow as can be
        described = await describing
        assert (described.context_window, described.loaded) == (512, False)
        talking = asyncio.create_task(said(provider, asks("Talk")))
        await asyncio.sleep(0)
        os.kill(provider.pid, signal.SIGCONT)
        assert await talking


async def test_what_only_the_server_knows_is_asked_for_after_the_first_answer(model_file: ModelFile) -> None:
    async with opened(model_file("calling")) as provider:
        client = LLMClient(provider, max_tokens=20)
        learning = asyncio.create_task(client.resolve_model())
        while provider.pid is None:
            await asyncio.sleep(0)
        os.kill(provider.pid, signal.SIGSTOP)
        await learning
        assert (client.context_window, client.info.abilities) == (WINDOW, None)
        os.kill(provider.pid, signal.SIGCONT)
        await client.complete([UserMessage("Talk")])
        await client.resolve_model()
        assert client.info.abilities == {"tools"}


async def test_one_who_does_not_wait_does_not_end_it(model_file: ModelFile) -> None:
    async with opened(model_file("plain")) as provider:
        impatient = asyncio.create_task(said(provider, asks("Talk")))
        while provider.pid is None:
            await asyncio.sleep(0)
        pid = provider.pid
        impatient.cancel()
        assert await said(provider, asks("Talk"))
        assert provider.pid == pid


@pytest.mark.parametrize(
    ("fault", "why", "fix"),
    [("architecture", "unknown model architecture", "--upgrade xllamacpp"), ("half", "file bounds", "is incomplete")],
)
async def test_a_file_that_cannot_be_loaded_is_told_in_llama_cpps_words(
    tmp_path: Path, model_file: ModelFile, fault: str, why: str, fix: str
) -> None:
    file = tmp_path / "model.gguf"
    if fault == "architecture":
        make_tiny_gguf(file, architecture="newest")
    else:
        file.write_bytes(model_file("plain").read_bytes()[:200_000])
    async with opened(file) as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await anext(provider.stream(asks("Talk")))
    assert caught.value.key == "gguf_unloadable"
    assert str(file) in caught.value.what
    assert why in caught.value.why
    assert fix in caught.value.fix


async def test_without_the_package_it_says_what_to_install(
    model_file: ModelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    async with opened(model_file("plain")) as provider:
        with pytest.raises(LLMConnectionError) as caught:
            await provider.list_models()
    assert caught.value.key == "gguf_not_installed"
    assert "pip install xllamacpp" in caught.value.fix


async def test_only_of_a_large_file_is_one_told_that_it_has_to_be_loaded(model_file: ModelFile, tmp_path: Path) -> None:
    async with opened(model_file("plain")) as provider:
        assert provider.preparing == ""
    large = tmp_path / "large.gguf"
    large.write_bytes(model_file("plain").read_bytes())
    os.truncate(large, WORTH_TELLING + 100_000_000)  # most of it a hole
    async with opened(large) as provider:
        assert "large.gguf (0.6 GB)" in provider.preparing
        assert await said(provider, asks("Talk"))
        assert provider.preparing == ""


async def no_servers(*_: object) -> list[Server]:
    return []


async def test_models_and_doctor_see_it(model_file: ModelFile, tmp_path: Path) -> None:
    answering = await find_out(settings_for(model_file("calling")), tmp_path, os.environ, no_servers)
    assert answering.fault is None
    assert (answering.provider, answering.model.id, answering.window) == ("gguf", "calling.gguf", WINDOW)
    assert [server.base_url for server in answering.servers] == [str(model_file("calling"))]
