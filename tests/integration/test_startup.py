"""The program loads only what it needs: nothing heavy for --version, and what comes later not before it is needed."""

import subprocess
import sys
from pathlib import Path

import localllm
from tests.support.wire_server import WireServer, says

HEAVY = {"asyncio", "click", "git", "httpx", "msgspec", "prompt_toolkit", "pydantic", "rich", "tomlkit", "tree_sitter"}

LATER = {
    *{"git", "markdown_it", "prompt_toolkit", "rich", "tenacity", "tomlkit", "tree_sitter", "trafilatura", "wcwidth"},
    *(f"localllm.agents.{name}" for name in ("blocker", "multi_agent", "panel.laying_out", "panel.snippets")),
    *(f"localllm.cli.{name}" for name in ("config", "doctor", "init", "models", "sandbox", "trusting")),
    *(f"localllm.core.repo.{name}" for name in ("drawing", "index", "rank", "rendering")),
    *(f"localllm.core.window.{name}" for name in ("compacting", "context_manager", "use")),
    *(f"localllm.memory.{name}" for name in ("document", "external_memory", "memory_file", "todos")),
    *(f"localllm.text.{name}" for name in ("bm25", "stemming", "tokenising")),
    *(f"localllm.ui.{name}" for name in ("keys", "markdown", "outbox", "plan", "repl", "talk", "typeahead")),
    *(f"localllm.base.i18n.{name}" for name in ("errors", "messages")),
    *(f"localllm.llm.{name}" for name in ("discovery.looking", "fallback", "gguf.files")),
    *(f"localllm.sandbox.{name}" for name in ("confinement", "network_hosts", "process", "protected", "runner")),
    *(f"localllm.text.{name}" for name in ("diffing", "matching", "merging", "pdf", "three_way")),
    *(f"localllm.tools.{name}" for name in ("code_answers", "edits", "git_answers", "reading", "searching")),
    *(f"localllm.tools.guard.{name}" for name in ("destruction", "line", "shell", "undoing", "words", "wrappers")),
    *(f"localllm.ui.{name}" for name in ("confirm", "consulted", "delegated", "piped", "slash")),
    *(f"localllm.web.{name}" for name in ("access", "addresses", "extraction", "fetching")),
    *("localllm.integrations", "localllm.llm.embedded", "localllm.syntax", "localllm.ui.slash.commands"),
    *{"logging.handlers", "pickle", "random", "tempfile", "tomllib"},
}
"""What a question that is answered at once needs nothing of."""

MOST_MODULES = 215
"""Of our own, for such a question: each takes some 0.3 ms, of the processor's time as well. (It was 310 once.)"""

BEHIND_THE_PROMPT = {
    *(f"localllm.core.{name}" for name in ("project.analyzer", "project.facts", "project.text", "repo.index")),
    *(f"localllm.sandbox.{name}" for name in ("confinement", "probe", "process", "protected", "runner")),
    *(f"localllm.tools.{name}" for name in ("code_answers", "edits", "git_answers", "reading", "searching")),
    *("localllm.integrations", "localllm.memory.document", "localllm.syntax", "localllm.web.access", "rich"),
}
"""What a chat that waits for its first words needs nothing of."""

PROBE = """
import sys
from localllm.cli import main
sys.argv = ["localllm", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def probe(*arguments: str, **options: Path | dict[str, str]) -> tuple[str, set[str]]:
    """What the program prints, and the modules it has loaded when it leaves."""
    command = [sys.executable, "-c", PROBE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, **options)
    return done.stdout, set(done.stderr.split())


def test_version_loads_nothing_heavy() -> None:
    printed, loaded = probe("--version")
    assert localllm.__version__ in printed
    assert "localllm" in loaded
    assert {module.partition(".")[0] for module in loaded} & HEAVY == set()


def test_a_first_answer_loads_nothing_that_comes_later(tmp_path: Path) -> None:
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(tmp_path / "home"))
    home["PYTHONPATH"] = str(Path(localllm.__file__).parent.parent)
    project = tmp_path / "project"
    project.mkdir()
    with WireServer([says("Hello.")]) as server:
        printed, loaded = probe("-p", "hi", "--base-url", server.url, "-m", "m", cwd=project, env=home)
    assert printed.strip() == "Hello."
    assert "localllm.ui.headless" in loaded
    assert loaded & LATER == set()
    assert sum(module.startswith("localllm") for module in loaded) <= MOST_MODULES


def test_a_prompt_loads_nothing_that_comes_behind_it() -> None:
    code = "import sys, localllm.cli.main, localllm.ui.repl, localllm.ui.prompt; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    loaded = set(done.stdout.split())
    assert "prompt_toolkit" in loaded
    assert loaded & BEHIND_THE_PROMPT == set()
