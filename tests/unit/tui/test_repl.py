"""The line under the prompt."""

from types import SimpleNamespace
from typing import Any

import pytest

from localllm.base.i18n import set_language
from localllm.llm.server_summary import StandIn
from localllm.tui.repl import toolbar

CHAT: dict[str, Any] = {
    "connecting": False,
    "mode": "ask",
    "model": "qwen3-8b",
    "provider_name": "lmstudio",
    "stand_in": None,
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
        (
            {"stand_in": StandIn("ollama", "http://127.0.0.1:11434", "qwen3-14b")},
            "qwen3-14b (instead of qwen3-8b) · sandbox landlock · 1,234 / 4,096 tokens",
        ),
        (
            {"model": "", "stand_in": StandIn("ollama", "http://127.0.0.1:11434", "qwen3-14b")},
            "qwen3-14b (instead of lmstudio) · sandbox landlock · 1,234 / 4,096 tokens",
        ),
        ({"model": "m · sandbox bwrap"}, "ask · m sandbox bwrap · sandbox landlock · 1,234 / 4,096 tokens"),
        ({"model": f"m{' ' * 200}x"}, "ask · m x · sandbox landlock · 1,234 / 4,096 tokens"),
        ({"connecting": True}, "looking for the model… · sandbox landlock · …"),
    ],
)
def test_the_toolbar_tells_how_full_the_window_is_and_whether_its_size_is_known(
    changes: dict[str, Any], line: str
) -> None:
    shown = toolbar(SimpleNamespace(**{**CHAT, **changes}), 80)  # type: ignore[arg-type] - as much of a chat as is shown
    assert shown.endswith(line.removeprefix("…"))


def test_in_japanese() -> None:
    set_language("ja")
    try:
        assert "8,192 トークン（仮定）" in toolbar(
            SimpleNamespace(**{**CHAT, "assumes_window": True, "context_window": 8192}),  # type: ignore[arg-type] - as above
            80,
        )
    finally:
        set_language("en")


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (83, "ask · qwen3-coder-30b-a3b-instruct-2507 · sandbox landlock · 1,234 / 4,096 tokens"),
        (80, "ask · qwen3-coder-30b-a3b-instruct-25… · sandbox landlock · 1,234 / 4,096 tokens"),
        (60, "qwen3-coder-30b… · sandbox landlock · 1,234 / 4,096 tokens"),
        (50, "qwen3-coder-30b… · 1,234 / 4,096 tokens"),
        (20, "qwen3-coder-30b… · 1,234 / 4,096 tokens"),
    ],
)
def test_how_full_the_window_is_is_the_last_to_be_cut(width: int, line: str) -> None:
    chat: Any = SimpleNamespace(**{**CHAT, "model": "qwen3-coder-30b-a3b-instruct-2507"})
    assert toolbar(chat, width) == line


def test_in_japanese_it_fits_80_columns() -> None:
    set_language("ja")
    try:
        chat: Any = SimpleNamespace(
            **{**CHAT, "mode": "auto-edit", "model": "scripted", "sandbox_level": "namespaces", "assumes_window": True}
        )
        assert toolbar(chat, 80) == "scripted · サンドボックス namespaces · 1,234 / 4,096 トークン（仮定）"
    finally:
        set_language("en")
