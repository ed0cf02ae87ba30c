"""Which texts of a project assistants obey."""

import pytest

from localllm.base.instruction_files import is_instruction


@pytest.mark.parametrize(
    "path",
    [
        "AGENTS.md",
        "packages/one/claude.md",
        ".github/copilot-instructions.md",
        ".github/instructions/py.md",
        ".cursorrules",
        "AGENT.md",
        "sub/agent.MD",
        "AGENTS.local.md",
        "GEMINI.md",
        "CODEX.md",
        "JULES.md",
        "OpenCode.md",
        "replit.md",
        ".rules",
        ".kilocoderules",
        ".roorules-code",
        ".clinerules-architect",
        ".augment-guidelines",
        ".openhands_instructions",
        ".github/chatmodes/x.md",
        ".github/skills/x/SKILL.md",
        ".agent/rules/x.md",
        "CRUSH.local.md",
        "GROK.md",
        ".aiassistant/rules/x.md",
        "sub/.bob/rules/x.md",
        ".devin/x.md",
        ".qoder/rules/x.md",
        ".zencoder/rules/x.md",
        "KODE.md",
        "llxprt.md",
        ".serena/memories/style.md",
        "sub/.newtool/skills/x/scripts/run.sh",
        ".lingma/rules/style.md",
        ".newtool/rules/sub/x.MDC",
    ],
)
def test_texts_that_other_assistants_obey(path: str) -> None:
    assert is_instruction(path)


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "docs/agents.html", ".github/CODEOWNERS", "AGENTS.md.txt", "agents/md", "rules", "AGENT.py"),
        *("skills/x/SKILL.md", ".semgrep/rules/x.yml", "docs/rules/x.md", ".x/docs/skills/y.md"),
    ],
)
def test_other_texts(path: str) -> None:
    assert not is_instruction(path)
