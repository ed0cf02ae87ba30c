"""/doctor: the findings of `localllm doctor`, in the chat."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localllm.config.loader import Loaded
from localllm.config.schema import LLMSettings, Settings
from localllm.integrations.doctor import checks
from localllm.integrations.doctor.inputs import ok
from tests.support.slash import said

pytestmark = pytest.mark.anyio


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("HOME", "LOCALLLM_STATE_DIR", "LOCALLLM_CONFIG_DIR", "LOCALLLM_CACHE_DIR", "LOCALLLM_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return SimpleNamespace(root=root, config=Loaded(settings=Settings(llm=LLMSettings(provider="embedded"))))


async def test_it_shows_what_the_doctor_finds(chat: Any) -> None:
    shown = await said(chat, "doctor")
    names = {line.split()[1] for line in shown.splitlines() if line.startswith(("  ok ", "  info ", "  warning "))}
    assert {"settings", "folder", "model", "program"} <= names
    assert list(chat.root.iterdir()) == []


async def test_a_file_of_settings_that_is_new_since_the_start_is_named(chat: Any) -> None:
    file = chat.root.parent / "home" / "localllm.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text('[ui]\ntheme = "dark"\n')
    shown = "".join((await said(chat, "doctor")).split())
    assert str(file) in shown
    assert "Nosettingsfile" not in shown
    file.write_text("[ui\n")
    assert "E1002" in await said(chat, "doctor") or "TOML" in await said(chat, "doctor")


async def test_it_can_be_stopped_while_a_check_works(chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, released = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(_here: object) -> Any:
        loop.call_soon_threadsafe(begun.set)
        released.wait(30)
        return [ok("slow", "It is done.")]

    monkeypatch.setattr(checks.examine, "__defaults__", ((slow,),))
    shown: list[str] = []
    task = asyncio.ensure_future(said(chat, "doctor", shown=shown))
    try:
        await asyncio.wait_for(begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        released.set()
    assert "slow" not in shown[0]
