"""The program's log without personal data: queries and typed text are masked before a line is written."""

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from localllm.base import logs
from localllm.base.paths import data_folder
from localllm.config.schema import LoggingSettings


def start_log(settings: LoggingSettings, work: Path | None = None) -> None:
    """Start the log in the work folder, by default the user's data folder, unless it was started already.

    In the data folder, which commands cannot access, a link in place of the log's folder is the user's, and is
    followed.
    """
    folder = work or data_folder()
    logs.start(
        folder,
        settings.level,
        _masked,
        rotate_days=settings.rotate_days,
        keep_days=settings.keep_days,
        debug=settings.debug,
        follows_links=folder == data_folder(),
    )


def show_log(stream: TextIO, level: str, *, without: Collection[str] = ()) -> None:
    """Also print records of `level` and above to `stream`, except those of the categories `without`."""
    logs.show(stream, level, _presentable, without=without)


@lru_cache(maxsize=8)  # a line may have several outputs
def _masked(line: str) -> str:
    from localllm.text.privacy_mask import masked_text  # most starts write no line

    return masked_text(line)


def _presentable(line: str) -> str:
    from localllm.text.sanitising import clean

    return clean(_masked(line), keep_newlines=False)
