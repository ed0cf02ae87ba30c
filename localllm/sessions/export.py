"""Export a session as one file: Markdown, a web page without scripts, or JSON."""

import errno
import html
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.events import Json
from localllm.base.files import atomic_write_at, open_beneath
from localllm.base.i18n import _, gettext, language, ngettext
from localllm.base.jsontext import encode_json
from localllm.base.regular_files import clock_time
from localllm.sessions.inert_markdown import without_pictures
from localllm.sessions.transcript import Answered, Called, Part, Remarked, Said, Transcript
from localllm.text.sanitising import clean, json_report, shorten

Format = Literal["md", "html", "json"]
FORMATS: tuple[Format, ...] = ("md", "html", "json")

_LINES = 40  # of a result, in Markdown
_SUMMARY = 160  # cells
_ARGUMENT = 200  # characters of an argument on the line of its call


def export(transcript: Transcript, to: Format) -> str:
    """Return the content of the file."""
    match to:
        case "md":
            return without_pictures("\n".join(_markdown(transcript))) + "\n"
        case "html":
            return _html(transcript)
        case "json":
            parts = tuple(map(_in_words, transcript.parts))
            spoken = msgspec.structs.replace(transcript, parts=parts)
            return json_report(spoken) + "\n"


def write_new(root: Path, file: Path, content: str | bytes, *, overwrite: bool = False) -> None:
    """Write an export atomically. Links do not lead out of the project at `root`, nor is the file's followed.

    Raises SafetyViolationError path_outside; ConfigurationError: export_exists, unless `overwrite`, and
    session_unwritable.
    """
    target = Path(os.path.abspath(file))  # noqa: PTH100 - `..` is resolved lexically, whatever a link leads to
    try:
        folder = _open_parent(root, target)
        try:
            data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
            atomic_write_at(folder, target.name, data, create_only=not overwrite)
        finally:
            os.close(folder)
    except FileExistsError:
        raise ConfigurationError("export_exists", file=file) from None
    except OSError as error:
        raise ConfigurationError("session_unwritable", file=file, reason=error.strerror or error) from error


def _open_parent(root: Path, file: Path) -> int:
    """Open the file's folder; within the project if the file's path begins with the project's."""
    real_root, parent = root.resolve(), file.parent.resolve()
    wanted = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if not any(file.is_relative_to(each) for each in (root, real_root)):
        return os.open(file.parent, wanted)
    outside = SafetyViolationError("path_outside", path=clean(str(file), keep_newlines=False), root=root)
    if not parent.is_relative_to(real_root):
        raise outside
    opened = os.open(real_root, wanted)
    try:
        return open_beneath(opened, str(parent.relative_to(real_root)), wanted)
    except OSError as error:
        raise outside if error.errno == errno.EXDEV else error from error
    finally:
        os.close(opened)


def format_for(file: str) -> Format:
    """Return the format for a file name by its suffix, Markdown without one.
    Raises ConfigurationError export_unknown for an unknown suffix of letters."""
    ending = Path(file).suffix
    if ending[1:].isalpha() and ending.lower() != ".txt" and format_of(ending) is None:
        raise ConfigurationError("export_unknown", wanted=ending.removeprefix("."))
    return format_of(ending) or "md"


def format_of(name: str) -> Format | None:
    """Return the format named by a word or by the suffix of a file name."""
    word = name.strip().lower().removeprefix(".")
    word = Path(word).suffix.removeprefix(".") or word
    known: dict[str, Format] = {"md": "md", "markdown": "md", "html": "html", "htm": "html", "json": "json"}
    return known.get(word)


def _facts(transcript: Transcript) -> Iterator[tuple[str, str]]:
    yield _("Project"), transcript.project
    if transcript.began:
        yield _("Started"), f"{clock_time(transcript.began):%Y-%m-%d %H:%M}"
    if transcript.models:
        yield _("Model"), ", ".join(transcript.models)
    yield _("Requests"), str(transcript.turns)
    if transcript.usage.prompt_tokens or transcript.usage.completion_tokens:
        read, written = f"{transcript.usage.prompt_tokens:,}", f"{transcript.usage.completion_tokens:,}"
        yield _("Tokens"), _("{read} read, {written} written", read=read, written=written)


def _title(transcript: Transcript) -> str:
    return transcript.title or _("Session {id}", id=transcript.session_id)


def _in_words(part: Part) -> Part:
    return msgspec.structs.replace(part, text=gettext(part.text)) if isinstance(part, Remarked) else part


def _when(part: Said) -> str:
    return f"{clock_time(part.time):%Y-%m-%d %H:%M}" if part.time else ""


def _arguments(arguments: dict[str, Json]) -> str:
    """Return the arguments on one line, without long texts, which are in the diff or the result."""
    parts: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else encode_json(value).decode()
        if "\n" not in text and len(text) <= _ARGUMENT:
            parts.append(f"{name}={text}")
    return "  ".join(parts)


# --- Markdown


def _markdown(transcript: Transcript) -> Iterator[str]:
    yield f"# {_escaped(_one_line(_title(transcript)))}"
    yield ""
    for name, value in _facts(transcript):
        yield f"- {name}: {_escaped(_one_line(value))}"
    if transcript.torn_lines:
        yield "- " + ngettext(
            "{count} line of the log could not be read.",
            "{count} lines of the log could not be read.",
            transcript.torn_lines,
        )
    for part in transcript.parts:
        yield ""
        yield from _markdown_part(part)


def _markdown_part(part: Part) -> Iterator[str]:
    match part:
        case Said(text=text):
            yield f"## {_('You')}" + (f" · {when}" if (when := _when(part)) else "")
            yield ""
            yield from (f"> {line}".rstrip() for line in clean(text).splitlines() or [""])
            if part.pictures:
                yield ""
                yield ngettext("({count} picture)", "({count} pictures)", part.pictures)
        case Answered(text=text):
            yield _whole_fences(_lower_headings(clean(text).rstrip()))
        case Called(name=name, arguments=arguments, success=success, summary=summary):
            mark = "✓" if success else "✗"
            yield f"**{mark} {_escaped(_one_line(name))}** {_code(_arguments(arguments))}".rstrip()
            yield ""
            if summary:
                yield _escaped(shorten(_one_line(summary), _SUMMARY))
                yield ""
            yield from _fenced(part.diff, "diff") if part.diff else _fenced(part.result, "")
        case Remarked():
            yield f"*{_escaped(_one_line(gettext(part.text)))}*"


def _lower_headings(text: str) -> str:
    """Lower the headings of an answer by two levels, below those of the file; not in code."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        if found := re.match(r" {0,3}(`{3,}|~{3,})", line):
            fence = "" if fence and line.strip().startswith(fence) else fence or found[1]
        elif not fence and re.match(r"#{1,6} ", line):
            lines.append("#" * min(2, 6 - line.index(" ")) + line)
            continue
        lines.append(line)
    return "\n".join(lines)


def _whole_fences(text: str) -> str:
    """Close a code fence that the text leaves open."""
    fence = ""
    for line in text.splitlines():
        if found := re.match(r" {0,3}(`{3,}|~{3,})", line):
            fence = "" if fence and line.strip().startswith(fence) else fence or found[1]
    return f"{text}\n{fence}" if fence else text


def _fenced(text: str, info: str) -> Iterator[str]:
    """Yield a code block that its content cannot end, truncated to `_LINES` lines."""
    if not text.strip():
        return
    lines = clean(text).rstrip("\n").splitlines()
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence + info
    yield from lines[:_LINES]
    yield fence
    if len(lines) > _LINES:
        yield ""
        yield ngettext("… {count} line left out", "… {count} lines left out", len(lines) - _LINES)


def _code(text: str) -> str:
    """Return the text as inline code."""
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{clean(text, keep_newlines=False)}{pad}{ticks}"


def _escaped(text: str) -> str:
    """Escape Markdown characters."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


# --- web page

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, "Hiragino Sans", "Noto Sans CJK JP", "Yu Gothic UI", sans-serif;
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; opacity: .75; margin-bottom: 2rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.person { border-left: 4px solid #3b82f6; padding: .2rem 1rem; margin: 2rem 0 1rem; background: #3b82f614; }
.person h2 { font-size: .85rem; margin: 0; opacity: .7; }
.assistant { margin: 1rem 0; }
details { margin: .5rem 0; border: 1px solid #8884; border-radius: .4rem; padding: .2rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
pre { overflow-x: auto; font: .85rem/1.45 ui-monospace, monospace; }
.good { color: #16a34a; } .bad { color: #dc2626; } .remark { opacity: .7; font-style: italic; }
.add { color: #16a34a; } .gone { color: #dc2626; }
"""


def _html(transcript: Transcript) -> str:
    title = html.escape(_one_line(_title(transcript)))
    facts = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(_one_line(value))}</dd>" for name, value in _facts(transcript)
    )
    torn = (
        [
            Remarked(
                ngettext(
                    "{count} line of the log could not be read.",
                    "{count} lines of the log could not be read.",
                    transcript.torn_lines,
                )
            )
        ]
        if transcript.torn_lines
        else []
    )
    parts = "\n".join(map(_html_part, (*torn, *transcript.parts)))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!DOCTYPE html>\n<html lang="{language()}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<dl>{facts}</dl>\n{parts}\n</body>\n</html>\n"
    )


def _html_part(part: Part) -> str:
    match part:
        case Said(text=text):
            head = " · ".join(filter(None, (_("You"), _when(part))))
            pictures = (
                f"<p>{html.escape(ngettext('({count} picture)', '({count} pictures)', part.pictures))}</p>"
                if part.pictures
                else ""
            )
            return f'<section class="person"><h2>{html.escape(head)}</h2>{_text(text)}{pictures}</section>'
        case Answered(text=text, thinking=thinking):
            thought = _details(html.escape(_("Thinking")), _text(thinking)) if thinking.strip() else ""
            return f'<section class="assistant">{thought}{_text(text) if text.strip() else ""}</section>'
        case Called():
            return _html_call(part)
        case Remarked():
            return f'<p class="remark">{html.escape(clean(gettext(part.text)))}</p>'


def _html_call(part: Called) -> str:
    mark = '<span class="good">✓</span>' if part.success else '<span class="bad">✗</span>'
    arguments = html.escape(clean(_arguments(part.arguments), keep_newlines=False))
    head = f"{mark} <b>{html.escape(clean(part.name))}</b> <code>{arguments}</code>"
    body = f"<p>{html.escape(clean(part.summary))}</p>" if part.summary else ""
    body += f"<pre>{''.join(_diff_rows(part.diff))}</pre>" if part.diff else ""
    body += f"<pre>{html.escape(clean(part.result))}</pre>" if part.result and not part.diff else ""
    return _details(head, body)


def _diff_rows(diff: str) -> Iterable[str]:
    for line in clean(diff).splitlines():
        kind = "add" if line.startswith("+") else "gone" if line.startswith("-") else ""
        row = html.escape(line)
        yield f'<span class="{kind}">{row}</span>\n' if kind else f"{row}\n"


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>{body}</details>"


def _text(text: str) -> str:
    return f'<div class="text">{html.escape(clean(text).strip())}</div>'
