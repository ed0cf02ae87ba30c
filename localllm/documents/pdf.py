"""The text of a PDF file, page by page, with the package pypdf where it is installed.

A PDF may be made to run away with time or memory. So it is read in a helper process, which can be killed and is held
to limits; only the code of `serve` travels there, out of this program's memory.
"""

import asyncio
import importlib.util
import marshal
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.environment import base_interpreter
from localllm.base.jsontext import decode_json

_SECONDS = 30.0
_MEMORY = 1_500_000_000  # bytes of address space
_MOST_TEXT = 5_000_000  # characters; a thousand dense pages
_LONGEST_TITLE = 300
_WITHOUT_TEXT = "[no text on this page: it is a picture, or blank]"

_BOOT = """
import marshal, sys, types
code = marshal.loads(bytes.fromhex(sys.argv[1]))
types.FunctionType(code, {"__builtins__": __builtins__})()
"""

Trouble = Literal["missing", "encrypted", "broken", "slow", "pictures"]


class PdfError(Exception):
    """Why there is no text: pypdf is `missing`, the file is `encrypted` or `broken`, reading it was too `slow`, or its
    pages are `pictures`."""

    def __init__(self, trouble: Trouble, pages: int = 0) -> None:
        super().__init__(trouble)
        self.trouble: Trouble = trouble
        self.pages = pages


class PdfText(msgspec.Struct, frozen=True):
    """The title a PDF has in its metadata ("" where it has none), and the text of all its pages, each under a line
    `--- page 3 of 12 ---`; of a page that has none that is said."""

    title: str
    text: str


class _Answer(msgspec.Struct):
    pages: list[str]
    title: str = ""
    trouble: Trouble | None = None


async def pdf_text(data: bytes, seconds: float = _SECONDS) -> str:
    """The text of all pages. Raises PdfError."""
    return (await read_pdf(data, seconds)).text


async def read_pdf(data: bytes, seconds: float = _SECONDS) -> PdfText:
    """The title and the text. Raises PdfError."""
    found = None
    with suppress(ModuleNotFoundError):  # also one that is worked on in the project
        found = importlib.util.find_spec("pypdf")
    if found is None or found.origin is None:
        raise PdfError("missing")
    place = str(Path(found.origin).parent.parent)
    answer = await _ask([marshal.dumps(serve.__code__).hex(), place, str(_MEMORY), str(_MOST_TEXT)], data, seconds)
    if answer.trouble:
        raise PdfError(answer.trouble)
    total = len(answer.pages)
    if not any(page.strip() for page in answer.pages):
        raise PdfError("pictures", total)
    parts = [
        f"--- page {number} of {total} ---\n{page.strip() or _WITHOUT_TEXT}\n"
        for number, page in enumerate(answer.pages, 1)
    ]
    return PdfText(" ".join(answer.title.split())[:_LONGEST_TITLE], "".join(parts))


async def _ask(arguments: list[str], data: bytes, seconds: float) -> _Answer:
    command = (base_interpreter(), "-I", "-S", "-E", "-c", _BOOT, *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/", env={})
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(data)
    except TimeoutError as error:
        raise PdfError("slow") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return decode_json(output, _Answer)
    except msgspec.DecodeError as error:  # it ended: out of memory, or by a fault of the package
        raise PdfError("broken") from error


def serve() -> None:
    """What the helper process does: a PDF comes in, {"pages": […], "title": …, "trouble": …} as JSON goes out."""
    import importlib
    import io
    import json
    import sys
    from contextlib import suppress

    sys.path.append(sys.argv[2])
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS refuses this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
    pypdf = importlib.import_module("pypdf")
    importlib.import_module("pypdf.errors")
    pages: list[str] = []
    title = ""
    trouble = None
    try:
        reader = pypdf.PdfReader(io.BytesIO(sys.stdin.buffer.read()))
        if reader.is_encrypted and not reader.decrypt(""):
            trouble = "encrypted"
        else:
            room = int(sys.argv[4])
            for page in reader.pages:
                text = page.extract_text() if room > 0 else "[too much text: left out]"
                room -= len(text)
                pages.append(text)
            with suppress(AttributeError, LookupError, TypeError, ValueError, pypdf.errors.PyPdfError):
                title = str(getattr(reader.metadata, "title", None) or "")
    except Exception as error:  # noqa: BLE001 - whatever a broken file does to the package
        trouble = "encrypted" if "cryptography" in str(error) else "broken"
    sys.stdout.buffer.write(json.dumps({"pages": pages, "title": title, "trouble": trouble}).encode())
