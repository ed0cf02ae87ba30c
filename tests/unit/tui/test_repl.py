"""The line under the prompt."""

from types import SimpleNamespace
from typing import Any

import pytest

from localllm.base.i18n import set_language
from localllm.tui.repl import toolbar

CHAT: dict[str, Any] = {
    "connecting": False,
    "mode": "ask",
    "model": "qwen3-8b",
    "provider_name": "lmstudio",
    "sandbox_level": "landlock",
    "context_used": 1234,
    "context_window": 4096,
    "assumes_window": False,
}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "ask · qwen3-8b · sandbox landlock · 1,234 / 4,096 tokens"),
        ({"assumes_window": True, "context_window": 8192}, "… · 1,234 / 8,192 tokens (assumed)"),
        ({"context_used": 0}, "… · 0 / 4,096 tokens"),
        ({"sandbox_level": "", "model": ""}, "lmstudio · sandbox … · 1,234 / 4,096 tokens"),
        ({"mode": "auto-edit"}, "auto-edit · qwen3-8b · sandbox landlock · 1,234 / 4,096 tokens"),
        ({"connecting": True}, "looking for the model… · sandbox landlock · …"),
    ],
)
def test_the_toolbar_tells_how_full_the_window_is_and_whether_its_size_is_known(
    changes: dict[str, Any], line: str
) -> None:
    shown = toolbar(SimpleNamespace(**{**CHAT, **changes}))  # type: ignore[arg-type] - as much of a chat as is shown
    assert shown.endswith(line.removeprefix("…"))


def test_in_japanese() -> None:
    set_language("ja")
    try:
        assert "8,192 トークン（仮定）" in toolbar(
            SimpleNamespace(**{**CHAT, "assumes_window": True, "context_window": 8192})  # type: ignore[arg-type] - as above
        )
    finally:
        set_language("en")
