"""What a project's file may say before it is trusted."""

from pathlib import Path
from typing import Any

import pytest

from localllm.base.instruction_files import INSTRUCTIONS
from localllm.config.keys import all_settings
from localllm.config.schema import HARMLESS, SafetyRule
from localllm.config.trust import admitted, is_loopback
from tests.support.each import each

ALLOWS, ASKS, DENIES = (SafetyRule(tool="x", decision=decision) for decision in ("allow", "ask", "deny"))


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost",
        "http://localhost:1234",
        "https://localhost:1234/v1",
        "HTTP://LocalHost:1234/v1/chat/completions",
        "http://127.0.0.1:8080",
        "http://127.255.255.255/",
        "http://[::1]:8080/v1",
        "localhost:1234",
        "127.0.0.1",
    ],
)
def test_this_machine(address: str) -> None:
    assert is_loopback(address)


@each(
    "address",
    [
        "",
        "http://",
        "http://example.com",
        "http://localhost@evil.com",
        "http://localhost:1234@evil.com",
        "http://evil.com#@localhost",
        "http://evil.com?@localhost/",
        "http://localhost#@evil.com",
        "http://localhost?.evil.com",
        "http://localhost\\@evil.com",
        "http://localhost\\.evil.com",
        "http:\\\\localhost",
        "http://localhost.evil.com",
        "http://evil-localhost",
        "http://127.0.0.1.evil.com",
        "http://127.0.0.1.nip.io",
        "http://localhost.",
        "http://ⓛocalhost",
        "http://loc\u0430lhost",  # a Cyrillic letter
        "http://loca\u017fhost",  # the long s, which lower() makes an s
        "http://\u212aocalhost",  # the sign of the kelvin
        "http://１２７.0.0.1",
        "http://localhost\u3002evil.com",  # an ideographic full stop is a dot to resolvers
        "http://127.0.0.1\u2024evil.com",
        "http://127.1",
        "http://0177.0.0.1",
        "http://127.0.0.256",
        "http://2130706433",
        "http://0x7f.0.0.1",
        "http://0.0.0.0:1234",
        "http://128.0.0.1",
        "http://[::]",
        "http://[::ffff:127.0.0.1]",
        "http://[::1].evil.com",
        "http://[::1]@evil.com",
        "http://[::1%25eth0]",
        "http://localhost:1234:80",
        "http://localhost:port",
        "http://localhost /",
        " http://localhost",
        "http://localhost\n",
        "http://localhost\t.evil.com",
        "http://localhost/\r\nHost: evil.com",
        "http://localhost//evil.com\\..",
        "http://localhost%2eevil.com",
        "http://localhost%00.evil.com",
        "ftp://localhost",
        "file://localhost/etc/passwd",
        "http+unix://localhost",
        "//localhost@evil.com",
    ],
)
def test_not_surely_this_machine(address: str) -> None:
    assert not is_loopback(address)


SAME = object()


@each(
    ("key", "effective", "value", "expected"),
    [
        ("llm.provider", "lmstudio", "embedded", SAME),
        ("llm.provider", "gemini", "lmstudio", SAME),
        ("llm.provider", "lmstudio", "openai", None),  # its server is far away
        ("llm.provider", "lmstudio", "gemini", None),
        ("llm.provider", "lmstudio", "azure", None),
        ("llm.provider", "lmstudio", "gguf", None),
        ("llm.provider", "lmstudio", "scripted", None),
        ("llm.provider", "lmstudio", "auto", None),  # whoever is found may be asked with a key
        ("llm.max_tokens", 8192, 100, SAME),
        ("llm.max_tokens", 8192, 10**9, None),
        ("llm.max_tokens", 8192, 0, None),
        ("llm.context_window", 0, 10**9, None),  # a server makes room for it
        ("llm.context_window", 8192, 4096, SAME),
        ("project.exclude_patterns", (), ("*.bak",) * 200, SAME),
        ("project.exclude_patterns", (), ("*.bak",) * 201, None),
        ("project.include_patterns", (), ("*a" * 200,), None),
        ("project.include_patterns", (), ("a\n!b",), None),
        ("safety.deny", (), ("edit_file",) * 201, None),
        ("ui.language", "auto", "ja", SAME),
        ("llm.openai.base_url", "http://gpu:8080", "http://localhost:8080", SAME),
        ("llm.openai.base_url", "http://gpu:8080", "http://localhost:65536", None),
        ("llm.openai.base_url", "http://gpu:8080", "http://evil.com", None),
        ("llm.openai.base_url", "http://gpu:8080", "http://gpu:8080", SAME),
        ("llm.azure.endpoint", "", "http://localhost", None),
        ("llm.scripted.file", "", "script.json", None),
        ("llm.gguf.file", "", "model.gguf", None),  # native code reads it
        ("llm.gguf.threads", 0, 64, None),
        ("llm.max_retries", 3, 0, None),
        ("agent.max_iterations", 50, 49, SAME),
        ("agent.max_iterations", 50, 51, None),
        ("agent.time_limit", 0.0, 10.0, SAME),
        ("agent.time_limit", 10.0, 9.0, SAME),
        ("agent.time_limit", 10.0, 11.0, None),
        ("agent.time_limit", 10.0, 0.0, None),
        ("agent.loop_detection_threshold", 3, 2, None),
        ("safety.command_timeout", 30.0, 5.0, SAME),
        ("safety.command_timeout", 30.0, 31.0, None),
        ("safety.require_confirmation", True, False, None),
        ("safety.require_confirmation", False, True, SAME),
        ("safety.auto_backup", True, False, None),
        ("safety.auto_backup", False, True, SAME),
        ("web.enabled", True, False, SAME),
        ("web.enabled", False, True, None),
        ("web.allow_private", (), ("localhost:1",), None),
        ("safety.allow", (), ("run_command",), None),
        ("safety.mode", "ask", "plan", SAME),
        ("safety.mode", "auto", "auto-edit", SAME),
        ("safety.mode", "ask", "auto-edit", None),
        ("safety.mode", "plan", "ask", None),
        ("safety.ask", ("a",), ("b",), ("a", "b")),
        ("safety.rules", (DENIES,), (ALLOWS, ASKS, DENIES), (DENIES, ASKS)),
        ("safety.deny", ("a",), ("b", "a"), ("a", "b")),
        ("safety.deny", ("a",), (), ("a",)),
        ("safety.dangerous_commands", ("sudo", "rm -rf"), ("format",), ("sudo", "rm -rf", "format")),
        ("commands.aliases.test", "", "run the tests, then\nfix them", SAME),
        ("commands.aliases.test", "", "explain @~/.ssh/config by https://example.com/x", SAME),  # words for the model
        ("llm.model", "", "qwen3:8b", None),  # one of the servers it may choose is elsewhere
        ("commands.aliases.test", "look for bugs", "delete all tests", None),
        ("commands.aliases.test", "", "!rm -rf ~", None),
        ("commands.aliases.test", "", "  \t!id", None),
        ("commands.aliases.test", "", "hello\n !id", None),
        ("commands.aliases.test", "", "hello\r/exit", None),
        ("commands.aliases.test", "", "hello\u2028!id", None),
        ("project.memory_file", "LOCALLLM.md", "docs/NOTES.md", SAME),
        ("project.memory_file", "LOCALLLM.md", "/etc/motd.md", None),
        ("project.memory_file", "LOCALLLM.md", "../other/NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", "docs/../../NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", "~/NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", "C:NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", "..\\NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", ".git/hooks/pre-commit", None),
        ("project.memory_file", "LOCALLLM.md", ".git/NOTES.md", None),
        ("project.memory_file", "LOCALLLM.md", ".localllm/commands/x.md", None),
        ("project.memory_file", "LOCALLLM.md", "Makefile", None),
        ("project.memory_file", "LOCALLLM.md", "docs/AGENTS.md", None),  # other assistants do what it says
        ("project.memory_file", "LOCALLLM.md", "Claude.local.md", None),
        ("project.memory_file", "LOCALLLM.md", "README.md", None),
        ("project.memory_file", "LOCALLLM.md", "docs/Index.md", None),
        ("project.memory_file", "LOCALLLM.md", "x\0.md", None),
        ("project.memory_file", "LOCALLLM.md", "", None),
        ("logging.level", "INFO", "DEBUG", None),
    ],
)
def test_what_is_let_through(tmp_path: Path, key: str, effective: Any, value: Any, expected: Any) -> None:
    addresses = {"lmstudio": "http://localhost:1234", "openai": "https://api.openai.com"}
    assert admitted(key, value, effective, tmp_path, addresses) == (value if expected is SAME else expected)


@each("name", [name for name in INSTRUCTIONS if name.endswith(".md")])
def test_no_text_that_assistants_obey_is_a_projects_memory(tmp_path: Path, name: str) -> None:
    for path in (name, f"docs/{name}", name.upper().replace(".MD", ".x.md")):
        assert admitted("project.memory_file", path, "LOCALLLM.md", tmp_path) is None
    (link := tmp_path / f"to-{Path(name).name}").symlink_to(name)
    assert admitted("project.memory_file", link.name, "LOCALLLM.md", tmp_path) is None


@each(
    ("model", "allowed"),
    [
        ("qwen3:8b", True),
        ("cloudy-7b", True),
        ("hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", True),
        ("m · sandbox namespaces", False),  # the status line shows the name beside the real level
        ("m\u00b7sandbox", False),
        ("gpt-oss:120b-cloud", False),
        ("GPT-OSS:120B-CLOUD ", False),
        ("kimi-k2:cloud", False),
    ],
)
def test_a_model_of_this_machine(tmp_path: Path, model: str, allowed: bool) -> None:
    assert admitted("llm.model", model, "", tmp_path, {"ollama": "http://localhost:11434"}) == (
        model if allowed else None
    )


def test_notes_behind_a_link_that_leads_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to("..")
    (root / "in.md").symlink_to("NOTES.md")
    (root / "circle.md").symlink_to("circle.md")
    (root / "hook.md").symlink_to(".git/hooks/pre-commit")
    (root / "notes.md").symlink_to("AGENTS.md")
    assert admitted("project.memory_file", "out/NOTES.md", "", root) is None
    assert admitted("project.memory_file", "hook.md", "", root) is None
    assert admitted("project.memory_file", "notes.md", "", root) is None
    assert admitted("project.memory_file", "circle.md", "", root) is None
    assert admitted("project.memory_file", "in.md", "", root) == "in.md"


def test_what_is_harmless_are_settings() -> None:
    assert set(all_settings()) >= HARMLESS
