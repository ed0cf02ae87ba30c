"""Answers on the project as a whole: files and folders, how to run it, its notes, open tasks."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from localllm.base.errors import LocalLLMError
from localllm.lookup import vocabulary
from localllm.lookup.answers import (
    concept,
    definitions,
    excerpt,
    in_a_line,
    lines_with,
    numbered,
    shorten,
    unnamed_files,
)
from localllm.lookup.code_units import documentation
from localllm.lookup.conversation import Talk
from localllm.lookup.file_kinds import is_secret, worth
from localllm.lookup.index import Place, ProjectIndex
from localllm.lookup.questions import Question
from localllm.lookup.ranking import words_fit
from localllm.lookup.terms import stemmed_word, terms_of
from localllm.memory import notes, session_records, todos
from localllm.memory.document import Document
from localllm.memory.memory_file import MemoryFile
from localllm.project.analyzer import analyze_project
from localllm.project.languages import language_named
from localllm.project.manifests.commands import best, narrowed
from localllm.project.manifests.signs import Command
from localllm.safety.closed_files import pattern_for

_MOST, _LISTED, _FOLDERS, _HEAD = 40, 8, 15, 80
_ABOUT = re.compile(r"README[^/]*|__init__\.py|mod\.rs|doc\.go|index\.[jt]s", re.IGNORECASE)
_NO_PROSE = re.compile(r"\s*(?:\[?!\[|<|\.\. |[=\-~#*]{3,}\s*$|#|\[.*\]:|```|\||>|$)")
_INSTRUCTIONS = re.compile(
    r"(?:readme|contributing|install|hacking|docs/[^/]*(?:install|contribut|start))[^/]*", re.IGNORECASE
)
_MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "composer.json", "pom.xml", "setup.cfg")
_KINDS = (
    ("class", re.compile(r"\bclass(?:es)?\b|クラス", re.IGNORECASE)),
    ("function", re.compile(r"\bfunctions?\b|関数", re.IGNORECASE)),
    ("method", re.compile(r"\bmethods?\b|メソッド", re.IGNORECASE)),
)


def project(talk: Talk, index: ProjectIndex) -> str:
    """Describe the project: the README's introduction, the manifest, and the folders."""
    paths = index.paths()
    said: list[str] = []
    for path in sorted((path for path in paths if "/" not in path and path.lower().startswith("readme")), key=len)[:1]:
        line, prose = _prose(index.lines(path))
        said += [f"{path}:{line}", "", f"> {prose}"] if prose else [f"{path}:1"]
    for path in _MANIFESTS:
        hits = [(path, at, line) for at, line in enumerate(index.lines(path), 1) if re.match(r"\W*description\b", line)]
        said += numbered(hits[:1])
    heading = talk.say("about_project", name=index.root.name)
    holds = talk.say("holds", count=len(paths))
    listed = "\n".join([heading, *said, "", holds, *_folder_lines(paths, "", _FOLDERS)])
    return listed + unnamed_files(talk, index)


def path_described(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """Describe a file or folder; with a line, the definition around it."""
    path = real_path(index, question.subject)
    if not path:
        return talk.say("no_path", path=question.subject)
    if path.endswith("/"):
        about = [own for own in index.paths() if own.startswith(path) and _ABOUT.fullmatch(own[len(path) :])]
        said = [in_a_line(index, Place(0, own, 1, "file", own.rpartition("/")[2], "")) for own in about[:1]]
        return "\n".join([*said, files_in(talk, index, path)])
    if is_secret(path):
        return f"{path}: {talk.say('not_shown')}"
    lines, units = index.lines(path), index.units_in(path)
    if question.detail:
        at = int(question.detail[:9])
        inside = next((place for place in reversed(units) if place.line <= at), None)
        shown = [f"{number:>5} {lines[number - 1]}" for number in range(at - 2, at + 3) if 0 < number <= len(lines)]
        return "\n".join([f"{path}:{at}", "", "```", *shown, "```", *([in_a_line(index, inside)] if inside else [])])
    doc = excerpt(index, Place(0, path, 1, "file", "", ""))[1] or _prose(lines)[1]
    own = [place for place in units if not place.parent] or units
    return "\n".join([f"{path}:1" + (f" — {doc}" if doc else ""), *_definition_lines(own, 12)])


def listed(talk: Talk, index: ProjectIndex, question: Question) -> str:
    """List the files of a folder or language, or the definitions of a file or class."""
    subject = question.subject
    kind = next((kind for kind, pattern in _KINDS if pattern.search(talk.question)), "")
    if subject and (path := real_path(index, subject)):
        if path.endswith("/"):
            return files_in(talk, index, path)
        kinds = {"function", "method"} if kind == "function" else {kind}
        places = [place for place in index.units_in(path) if place.kind in kinds] or index.units_in(path)
        return "\n".join([talk.say("defined_in", count=len(places), path=path), *_definition_lines(places, _MOST)])
    if subject and (owners := definitions(index, subject)):
        places = [place for place in index.units_in(owners[0].path) if place.parent == owners[0].name]
        about = f"`{subject}` ({owners[0].path}:{owners[0].line})"
        return "\n".join([talk.say("defined_in", count=len(places), path=about), *_definition_lines(places, _MOST)])
    if subject:
        return talk.say("no_path", path=subject)
    is_of_files = re.search(
        r"\bfiles?\b|\bmodules?\b|ファイル|モジュール|フォルダ|folder", talk.question, re.IGNORECASE
    )
    if is_of_files or question.kind == "list":
        return concept(talk, index) if kind else files_in(talk, index, "")
    count = talk.say("count_of", count=index.count_of(kind), kind=kind)
    return count if kind else concept(talk, index, prefer="constant")


def files_in(talk: Talk, index: ProjectIndex, folder: str) -> str:
    """List the files of a folder ("" for all) in a named language: few by name, many by folder."""
    paths = [path for path in index.paths() if path.startswith(folder)]
    asked = {word.lower() for word in re.findall(r"[A-Za-z+#]+", talk.question)}
    language = next((name for name in map(language_named, paths) if name and name.lower() in asked), "")
    paths = [path for path in paths if language_named(path) == language] if language else paths
    heading = talk.say("files_in", count=len(paths), folder=(folder or ".") + (f" ({language})" if language else ""))
    lines = [f"- {path}" for path in paths] if len(paths) <= _MOST else _folder_lines(paths, folder, _MOST)
    return "\n".join([heading, *lines])


def left_to_do(talk: Talk, index: ProjectIndex, memory: str) -> str:
    """List the open TODOs of the project's notes, then lines with TODO or FIXME."""
    document = _document(index, memory)
    tasks = [f"- {todo.text}" for todo in todos.by_urgency(todos.todos(document)) if todo.is_open]
    said = [talk.say("open_todos", file=memory), *tasks[:_MOST], ""] if tasks else []
    hits = [hit for word in ("TODO", "FIXME") for hit in lines_with(index, word, comments=True)]
    said += [talk.say("todo", count=len(hits)), *numbered(hits[:_LISTED])] if hits else []
    return "\n".join(said).strip() or talk.say("no_todo")


def noted(talk: Talk, index: ProjectIndex, kind: Literal["decided", "preferred", "before"], memory: str) -> str:
    """Return decisions or preferences from the notes, optionally on a subject, or the last session."""
    document = _document(index, memory)
    if kind == "before":
        last = session_records.last(document)
        return "\n".join([talk.say("last_session", file=memory), last.text]) if last else talk.say("no_session")
    section: notes.NoteKind = "decisions" if kind == "decided" else "preferences"
    lines = [f"- {note.when} {note.text}".replace("-  ", "- ") for note in notes.newest(document, section)]
    about = vocabulary.named("of_notes")
    terms = [term for term in terms_of(talk.question) if not {term.text.lower(), stemmed_word(term.text)} & about]
    fitting = [line for line in lines if words_fit(terms, line)] if terms else lines
    heading = talk.say(section, file=memory) if fitting else talk.say(f"no_{section}_about")
    return "\n".join([heading, *(fitting or lines)[:_MOST]]) if lines else talk.say(f"no_{section}")


def how_to(talk: Talk, index: ProjectIndex, memory: str) -> str:
    """Return the commands for a task: from the analysis of the project, then from the README and similar files."""
    patterns = dict(vocabulary.patterns("howto.txt"))
    ways = [heading.removesuffix(" asked") for heading in patterns if heading.endswith(" asked")]
    what = next(way for way in ways if patterns[f"{way} asked"].search(talk.question))
    found = {_noted_tests(index, memory): f"{memory}:1"} if what == "test" else {}
    for command in _analysis_commands(index):
        if command.kind == what:
            last = command.line.rsplit(None, 1)[-1] if command.line.strip() else command.line
            at = next((at for at, line in enumerate(index.lines(command.source), 1) if last in line), 1)
            found.setdefault(command.line, f"{command.source}:{at}")
    for path in (path for path in index.paths() if _INSTRUCTIONS.fullmatch(path)):
        inside = False
        for number, line in enumerate(index.lines(path), 1):
            inside ^= line.lstrip().startswith("```")
            whole = [line.strip().lstrip("$>% ")] if inside or line.startswith(("    ", "$", "\t")) else []
            for told in re.findall(r"`([^`]+)`", line) or whole:
                if patterns[f"{what} command"].search(told) and not told.startswith("#"):
                    found.setdefault(shorten(told, 100), f"{path}:{number}")
    lines = ["- " + talk.say("how_command", command=line, place=at) for line, at in found.items() if line]
    return "\n".join(lines[:_LISTED]) or talk.say("no_how", what=what)


def command_of_tests(index: ProjectIndex, memory: str, path: str) -> str:
    """Return the command that runs the tests: from the notes, else from the project's files."""
    if noted := _noted_tests(index, memory):
        own = ".venv/bin/python" if (index.root / ".venv/bin/python").exists() else "python3"
        return narrowed(re.sub(r"^python3?(?= )", own, noted), path)
    found = best(_analysis_commands(index), "test")
    return narrowed(found.line, path) if found else ""


def real_path(index: ProjectIndex, subject: str) -> str:
    """Return the file or folder (ending with `/`) that is meant; "" if there is none."""
    path = subject.removeprefix("./").removeprefix("@").rstrip("/")
    paths = index.paths()
    if path in paths:
        return path
    files = sorted((own for own in paths if own.endswith(f"/{path}")), key=lambda own: (-worth(own), own))
    folders = {own[: f"/{own}".index(f"/{path}/") + len(path) + 1] for own in paths if f"/{path}/" in f"/{own}"}
    return next(iter([*files, *sorted(folders, key=len)]), "")


def _folder_lines(paths: Sequence[str], folder: str, most: int) -> list[str]:
    """List the entries of a folder, with the number of files below each."""
    names = (path[len(folder) :].partition("/") for path in paths)
    counts = Counter(name + slash for name, slash, _ in names).most_common(most)
    return [f"- {folder}{name}" + (f" ({count})" if name.endswith("/") else "") for name, count in counts]


def _definition_lines(places: Sequence[Place], most: int) -> list[str]:
    lines = [f"- {place.path}:{place.line} — {place.kind} `{place.full_name}`" for place in places[:most]]
    return [*lines, f"- … +{len(places) - most}"] if len(places) > most else lines


def _prose(lines: Sequence[str]) -> tuple[int, str]:
    """Return the first paragraph of prose, and its line."""
    for number, line in enumerate(lines[:_HEAD], 1):
        if not _NO_PROSE.match(line) and re.search(r"\w+ \w+|[ぁ-んァ-ヶ一-龠]{4}", line):
            return number, shorten(re.split(r"\n\s*\n", "\n".join(lines[number - 1 : number + 8]))[0], 240)
    return 1, documentation(lines, 1, python=True)


def _analysis_commands(index: ProjectIndex) -> tuple[Command, ...]:
    with suppress(OSError):
        exclude = (*index.exclude, *map(pattern_for, index.closed))
        return analyze_project(index.root, exclude, seconds=5.0).commands
    return ()


def _noted_tests(index: ProjectIndex, memory: str) -> str:
    noted = (re.match(r"[-*] (?:Tests?|テスト): ?`([^`]+)`", line) for line in index.lines(memory))
    return next((match[1].strip() for match in noted if match), "")


def _document(index: ProjectIndex, memory: str) -> Document:
    with suppress(LocalLLMError, OSError):
        return MemoryFile(index.root, memory, index.closed).read()
    return Document("")
