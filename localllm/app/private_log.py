"""The program's log without personal data: what was searched for or typed is masked before a line is written."""

from localllm.base import logs
from localllm.base.paths import state_folder


def start_log(level: str) -> None:
    """Keep the log in the user's state folder, unless one is kept already."""
    logs.start(state_folder() / "logs", level, _masked)


def _masked(line: str) -> str:
    from localllm.text.privacy_mask import masked_text  # most starts write no line

    return masked_text(line)
