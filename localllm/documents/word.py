"""Convert a Word file (docx) to Markdown, with the package mammoth if installed.

A zip archive may be crafted to exhaust memory, so it is read in a helper process, like a PDF.
"""

import asyncio
from typing import Literal

import msgspec

from localllm.documents.helper_process import DiedError, SlowError, ask, package_place
from localllm.documents.html_text import html_text

_SECONDS = 60.0
_MOST_TEXT = 20_000_000  # characters of HTML

Trouble = Literal["missing", "broken", "slow"]


class WordError(Exception):
    """Why there is no text: mammoth is `missing`, the file is `broken`, or reading it was too `slow`."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble)
        self.trouble: Trouble = trouble


class _Answer(msgspec.Struct):
    html: str
    is_broken: bool = False


async def word_markdown(data: bytes, seconds: float = _SECONDS) -> str:
    """Return the text of a Word file: headings, paragraphs, list items, table cells. Raises WordError."""
    if (place := package_place("mammoth")) is None:
        raise WordError("missing")
    try:
        answer = await ask(serve, place, data, _Answer, _MOST_TEXT, seconds=seconds)
    except SlowError as error:
        raise WordError("slow") from error
    except DiedError as error:
        raise WordError("broken") from error
    if answer.is_broken:
        raise WordError("broken")
    return (await asyncio.to_thread(html_text, answer.html)).text


def serve() -> None:
    """Run in the helper process: read a Word file, print {"html": …, "is_broken": …} as JSON."""
    import importlib
    import io
    import json
    import sys
    from contextlib import suppress

    sys.path.append(sys.argv[2])
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS rejects this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))

    def without_picture(_image: object) -> dict[str, str]:
        return {}

    mammoth = importlib.import_module("mammoth")
    html, is_broken = "", False
    try:
        found = mammoth.convert_to_html(
            io.BytesIO(sys.stdin.buffer.read()), convert_image=mammoth.images.img_element(without_picture)
        )
        html = found.value[: int(sys.argv[4])]
    except Exception:  # noqa: BLE001 - whatever a broken file causes in the package
        is_broken = True
    sys.stdout.buffer.write(json.dumps({"html": html, "is_broken": is_broken}).encode())
