"""The texts the agent begins with: the frozen system prompt, and the situation told once with the first request."""

from datetime import date
from functools import cache
from pathlib import Path

import msgspec

_NAMES_SHOWN = 40
_PASSED_OVER = {".git", ".localllm", ".venv", "__pycache__", "node_modules"}


@cache
def system_prompt(name: str = "system") -> str:
    """Who the assistant is and how it works; `name` is that of a profile's prompt. The same for every session, so that
    servers can reuse it."""
    return (Path(__file__).parent / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _remarks() -> dict[str, str]:
    return msgspec.toml.decode((Path(__file__).parent / "prompts" / "remarks.toml").read_bytes(), type=dict[str, str])


def remark(name: str, **params: object) -> str:
    """What the model is told in the middle of a run: the text of this name in prompts/remarks.toml, filled in."""
    return _remarks()[name].format(**params).strip()


def situation(root: Path, today: date) -> str:
    """What changes from session to session: where and when. Goes to the end of the first user message."""
    names = sorted(
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in root.iterdir()
        if entry.name not in _PASSED_OVER and entry.name.isprintable()
    )
    shown = " ".join(names[:_NAMES_SHOWN]) + (f" … ({len(names)} in all)" if len(names) > _NAMES_SHOWN else "")
    return f"[Project {root.name}, {today.isoformat()}. Top level: {shown or 'empty'}]"
