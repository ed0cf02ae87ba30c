"""Extract the article of a page with the package trafilatura, in a helper process.

Some of its patterns take square time on pages made for that, and hold the interpreter meanwhile: in this process
neither Ctrl+C nor a timeout would be heard.
"""

import subprocess

import msgspec

from localllm.base.helper_program import command_line
from localllm.base.jsontext import decode_json
from localllm.documents.helper_process import MEMORY, package_place

SECONDS = 20
"""Per page; most take less than one."""


class Article(msgspec.Struct, frozen=True):
    """The text that trafilatura finds in its default mode, and in its precision mode, as Markdown."""

    wide: str
    strict: str


def extract_article(html: str) -> Article | None:
    """Extract the article of a page; None if trafilatura is not installed, fails or takes too long. Blocks."""
    if (place := package_place("trafilatura")) is None:
        return None
    command = command_line(serve, place, str(MEMORY), seconds=SECONDS)
    try:
        data = html.encode("utf-8", "replace")
        ran = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS, cwd="/", env={}, check=False)
        return decode_json(ran.stdout, Article)
    except (subprocess.TimeoutExpired, msgspec.DecodeError):
        return None


def serve() -> None:
    """Run in the helper process: read a page, print {"wide": …, "strict": …} as JSON."""
    import importlib
    import json
    import sys
    from contextlib import suppress

    sys.path.append(sys.argv[2])
    with suppress(ImportError, OSError, ValueError):  # Windows has no limits; macOS rejects this one
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))

    extract = importlib.import_module("trafilatura").extract
    html = sys.stdin.buffer.read().decode()
    wide, strict = (
        extract(html, output_format="markdown", include_comments=False, favor_precision=sure) or ""
        for sure in (False, True)
    )
    sys.stdout.buffer.write(json.dumps({"wide": wide, "strict": strict}).encode())
