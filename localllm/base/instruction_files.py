"""The texts of a project that assistants obey.

Honest work edits them and a checkout changes them, so they are not protected like what programs believe
(`sandbox/protect/protected_names`): whoever lets one be changed is asked or told.
"""

import os
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
    "GEMINI.md",
    "IFLOW.md",
    "JULES.md",
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
)
"""Their names: paths below the project or any folder in it; of a folder, all that is beneath."""

_BY_MODE = (".clinerules-", ".roorules-")
"""How the names of texts for one mode of an assistant begin: `.roorules-code`."""

_INSTRUCTIONS = frozenset(name.casefold() for name in INSTRUCTIONS)


def is_instruction(relative_path: str) -> bool:
    """Whether a path below the project (`/` between its names) is, or lies beneath, a text that assistants obey."""
    parts = relative_path.casefold().split("/")
    return any(
        name in _INSTRUCTIONS or name.startswith(_BY_MODE)
        for start in range(len(parts))
        for name in (parts[start], "/".join(parts[start : start + 2]))
    )


def linked_instructions(root: Path) -> set[str]:
    """Find what those of the texts that are links, in the folder `root` itself, stand for; paths below it."""
    real = os.path.realpath(root)
    links = (f"{real}/{name}" for name in INSTRUCTIONS)
    targets = (real_path(link) for link in links if os.path.islink(link))  # noqa: PTH114 - strings
    return {target[len(real) + 1 :] for target in targets if target.startswith(f"{real}/")}
