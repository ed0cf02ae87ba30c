"""What is this project, this folder, this file, this line."""

import re
from collections.abc import Generator, Sequence

from localllm.lookup.answers import place, shorten
from localllm.lookup.calls import Call, Plan, Result, names, outline, read
from localllm.lookup.conversation import Talk
from localllm.lookup.excerpts import first_sentences, module_doc, quote_at
from localllm.lookup.inspect import innermost
from localllm.lookup.places import is_secret, place_of
from localllm.lookup.plans.concept import concept
from localllm.lookup.questions import Question
from localllm.lookup.results import Outlined, is_folder, read_lines, read_listing, read_outline
from localllm.lookup.terms import terms_of
from localllm.lookup.wording import say

_HEAD = 80
_FOLDERS = 15
_DEFINITIONS = 12
_README = re.compile(r"^readme(?:\.(?:md|rst|txt|adoc|markdown))?$", re.IGNORECASE)
_MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "setup.cfg", "composer.json", "pom.xml")
_BADGE = re.compile(r"^\s*(?:\[?!\[|<|\.\. |=+$|-+$|#|\[.*\]:|```|\||>|\*\*?\[)")


def project(talk: Talk) -> Plan:
    """README's first words, what the manifest says, and which folders there are."""
    (result,) = yield (names(),)
    found = read_listing(result.text)
    top = talk.project.top or tuple(
        {path.split("/")[0] + "/" * ("/" in path) for path in (*found.files, *found.folders)}
    )
    told = yield from _told(talk, top)
    if not found.total:
        return say(talk.japanese, "empty")
    folders: dict[str, int] = {}
    for path in found.files:
        folders[_first(path)] = folders.get(_first(path), 0) + 1
    for folder, count in found.folders.items():
        folders[_first(folder)] = folders.get(_first(folder), 0) + count
    ordered = sorted(folders.items(), key=lambda item: -item[1])[:_FOLDERS]
    lines = [f"- {name} ({say(talk.japanese, 'files', count=count)})" for name, count in ordered]
    name = talk.project.name or "."
    return "\n".join(
        [
            say(talk.japanese, "about_project", name=name),
            *told,
            "",
            say(talk.japanese, "holds", count=found.total),
            *lines,
        ]
    )


def described(talk: Talk, question: Question) -> Plan:
    """What a file or folder is; with a line, what that line is in."""
    path = question.subject.removeprefix("./").removeprefix("@")
    if is_secret(path):
        return f"{path}: {say(talk.japanese, 'not_shown')}"
    results = yield (read(path.rstrip("/"), 1, _HEAD), outline(path.rstrip("/")))
    if is_folder(path.rstrip("/"), results[0].text):
        return (yield from _folder(talk, path.rstrip("/")))
    if results[0].error:
        return (yield from _elsewhere(talk, question))
    outlined = [] if results[1].error else read_outline(results[1].text)
    if question.detail:
        return (yield from _line(talk, path, int(question.detail), outlined))
    lines = read_lines(path, results[0].text)
    return _file(talk, path, lines, outlined)


def _file(talk: Talk, path: str, lines: dict[int, str], outlined: Sequence[Outlined]) -> str:
    doc = first_sentences(module_doc(lines)) or _prose(list(lines.values()))
    said = [f"{place(path, 1)}" + (f" — {doc}" if doc else "")]
    shown = [item for item in outlined if item.depth == 0] or outlined
    said += [f"- {place(path, item.start)} — {item.kind} `{item.name}`" for item in shown[:_DEFINITIONS]]
    if len(shown) > _DEFINITIONS:
        said.append(f"- … +{len(shown) - _DEFINITIONS}")
    return "\n".join(said)


def _line(talk: Talk, path: str, line: int, outlined: Sequence[Outlined]) -> Plan:
    inside = innermost(outlined, line)
    start = max(1, min(line - 5, inside.start - 5 if inside else line))
    (result,) = yield (read(path, start, max(60, line - start + 10)),)
    if result.error:
        return result.text
    lines = read_lines(path, result.text, start)
    said = [f"{place(path, line)}" + (f" — {say(talk.japanese, 'in', name=inside.name)}" if inside else "")]
    said += [
        "",
        "```",
        *(f"{number:>5} {lines[number]}" for number in range(line - 2, line + 3) if number in lines),
        "```",
    ]
    if inside:
        quote = quote_at(lines, inside.start)
        said += [
            f"{place(path, inside.start)}: `{shorten(quote.signature)}`",
            *([f"> {quote.doc}"] if quote.doc else []),
        ]
    return "\n".join(said)


def _folder(talk: Talk, path: str) -> Plan:
    (result,) = yield (names(path),)
    found = read_listing(result.text)
    about = [
        item
        for item in found.files
        if re.fullmatch(rf"{re.escape(path)}/(?:README[^/]*|__init__\.py|mod\.rs|doc\.go|index\.[jt]s)", item)
    ]
    said = [f"{path}/: {say(talk.japanese, 'files', count=found.total)}"]
    if about:
        (told,) = yield (read(about[0], 1, _HEAD),)
        lines = read_lines(about[0], told.text)
        if doc := first_sentences(module_doc(lines)) or (
            _prose(list(lines.values())) if place_of(about[0]) == "document" else ""
        ):
            said += [f"{place(about[0], 1)} — {doc}"]
    said += [
        f"- {name} ({say(talk.japanese, 'files', count=count)})"
        for name, count in list(found.folders.items())[:_FOLDERS]
    ]
    said += [f"- {name}" for name in found.files[: _FOLDERS * 2]]
    rest = len(found.files) - _FOLDERS * 2
    return "\n".join([*said, *([f"- … +{rest}"] if rest > 0 else [])])


def _elsewhere(talk: Talk, question: Question) -> Plan:
    """A file that is not where it was said to be, if there is one of that name."""
    name = question.subject.rstrip("/").rsplit("/", 1)[-1]
    (result,) = yield (names(pattern=name),)
    listed = read_listing(result.text)
    folders = sorted({_up_to(path, name) for path in (*listed.files, *listed.folders)} - {""})
    if len(folders) == 1:
        return (yield from _folder(talk, folders[0]))
    files = folders or list(listed.files)
    if len(files) == 1 and files[0] != question.subject:
        return (yield from described(talk, Question("path", files[0], question.detail)))
    if not files:
        beside = [term for term in terms_of(talk.question.replace(question.subject, " ")) if not term.soft]
        return (yield from concept(talk)) if len(beside) > 1 else say(talk.japanese, "no_path", path=question.subject)
    return say(talk.japanese, "which_path", path=name, names=", ".join(files[:8]))


def _up_to(path: str, folder: str) -> str:
    """The path of the folder of that name above `path`, "" where there is none."""
    above = path.split("/")[:-1]
    return "/".join(above[: above.index(folder) + 1]) if folder in above else ""


def _told(talk: Talk, top: Sequence[str]) -> Generator[tuple[Call, ...], list[Result], list[str]]:
    readme = next((name for name in top if _README.match(name)), "")
    manifest = next((name for name in _MANIFESTS if name in top), "")
    files = [name for name in (readme, manifest) if name]
    results = (yield tuple(read(name, 1, _HEAD) for name in files)) if files else []
    said: list[str] = []
    for name, result in zip(files, results, strict=True):
        lines = {} if result.error else read_lines(name, result.text)
        line, text = _first_prose(lines) if name == readme else _summary_line(lines)
        if text:
            said += ["", say(talk.japanese, "says_of_itself", place=place(name, line)), f"> {text}"]
    return said


def _first_prose(lines: dict[int, str]) -> tuple[int, str]:
    """The first paragraph that is no heading, badge or table."""
    for number, line in lines.items():
        if line.strip() and not _BADGE.match(line):
            paragraph = [line]
            while lines.get(number + len(paragraph), "").strip() and len(paragraph) < 8:
                paragraph.append(lines[number + len(paragraph)])
            underlined = re.fullmatch(r"[=~-]{3,}", paragraph[1].strip()) if len(paragraph) > 1 else None
            if underlined:
                continue
            return number, shorten(" ".join(paragraph), 600)
    return next(((number, line.strip("# ")) for number, line in lines.items() if line.startswith("#")), (1, ""))


def _prose(lines: Sequence[str]) -> str:
    if lines and lines[0].startswith("#"):
        return _first_prose(dict(enumerate(lines, 1)))[1]
    return ""


def _summary_line(lines: dict[int, str]) -> tuple[int, str]:
    pattern = re.compile(
        r"^\s*\"?description\"?\s*[:=]\s*[\"'](.+?)[\"'],?\s*$|^module (\S+)|^\s*<description>(.+)</description>"
    )
    return next(
        ((number, next(filter(None, m.groups()))) for number, line in lines.items() if (m := pattern.match(line))),
        (1, ""),
    )


def _first(path: str) -> str:
    return path.split("/", maxsplit=1)[0] + "/" if "/" in path else "."
