"""Names of a project's files that contain instructions for assistants.

They are edited legitimately and change with checkouts, so they are not protected like files that programs execute
(`sandbox/protect/protected_names`): the user is asked or notified when one changes.
"""

import os
from itertools import pairwise
from pathlib import Path

from localllm.base.files import real_path

INSTRUCTIONS = (
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.local.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "CODEBUDDY.md",
    "CODEX.md",
    "CRUSH.md",
    "CRUSH.local.md",
    "GEMINI.md",
    "GROK.md",
    "IFLOW.md",
    "JULES.md",
    "KODE.md",
    "LLXPRT.md",
    "OpenCode.md",
    "QWEN.md",
    "replit.md",
    "WARP.md",
    ".aiderrules",
    ".augment-guidelines",
    ".clinerules",
    ".cursorrules",
    ".continuerules",
    ".goosehints",
    ".kilocoderules",
    ".openhands_instructions",
    ".roorules",
    ".rules",
    ".voidrules",
    ".windsurfrules",
    ".github/chatmodes",
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    ".github/skills",
    ".agent",
    ".agents",
    ".aiassistant/rules",
    ".bob/rules",
    ".devin",
    ".qoder/rules",
    ".serena/memories",
    ".zencoder/rules",
)
"""Paths below the project or any folder in it; a folder includes everything beneath it."""

_BY_MODE = (".clinerules-", ".roorules-")
"""Prefixes of files for one mode of an assistant: `.roorules-code`."""

_INSTRUCTIONS = frozenset(name.casefold() for name in INSTRUCTIONS)


def is_instruction(relative_path: str) -> bool:
    """Return whether a path below the project (with `/`) is, or lies beneath, an instruction file."""
    parts = relative_path.casefold().split("/")
    return any(
        name in _INSTRUCTIONS or name.startswith(_BY_MODE)
        for start in range(len(parts))
        for name in (parts[start], "/".join(parts[start : start + 2]))
    ) or any(_is_of_any_assistant(*pair, parts[-1]) for pair in pairwise(parts))


def _is_of_any_assistant(folder: str, inside: str, name: str) -> bool:
    """Return whether a hidden folder, and what lies in it on the way to a file, is where assistants look for skills, or
    rules in Markdown: each has a folder of its own."""
    return folder.startswith(".") and (inside == "skills" or (inside == "rules" and name.endswith((".md", ".mdc"))))


def linked_instructions(root: Path) -> set[str]:
    """Return the targets, as paths below `root`, of instruction files directly in it that are links."""
    real = os.path.realpath(root)
    links = (f"{real}/{name}" for name in INSTRUCTIONS)
    targets = (real_path(link) for link in links if os.path.islink(link))  # noqa: PTH114 - strings
    return {target[len(real) + 1 :] for target in targets if target.startswith(f"{real}/")}
