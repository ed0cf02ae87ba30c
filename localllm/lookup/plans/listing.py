"""Files of a folder, definitions of a file, how many of something, tests, TODO, people."""

import re
from collections import Counter
from collections.abc import Sequence

from localllm.lookup import vocabulary
from localllm.lookup.answers import numbered, place
from localllm.lookup.calls import Plan, names, open_todos, outline, read, search
from localllm.lookup.conversation import Talk
from localllm.lookup.entities import name_in
from localllm.lookup.filters import names_with
from localllm.lookup.places import is_secret, place_of, worth
from localllm.lookup.plans.concept import concept
from localllm.lookup.plans.noted import unread
from localllm.lookup.plans.symbol import definitions_of
from localllm.lookup.plans.usage import whole
from localllm.lookup.questions import Question
from localllm.lookup.ranking import Judge
from localllm.lookup.results import Hit, Listing, Outlined, read_hits, read_listing, read_outline
from localllm.lookup.terms import Term, terms_of
from localllm.lookup.wording import say
from localllm.lookup.words import stem

_MOST = 40
_MOST_TESTS = 10
_TESTS = "{*[tT]est*,*[sS]pec.*,*[sS]pec}"
_LANGUAGES = {
    "python": "py", "javascript": "{js,mjs,cjs,jsx}", "typescript": "{ts,tsx}", "go": "go", "rust": "rs",
    "java": "java", "ruby": "rb", "php": "php", "c": "{c,h}", "c++": "{cpp,cc,cxx,hpp,hh}", "c#": "cs",
    "markdown": "md", "json": "json", "yaml": "{yml,yaml}", "toml": "toml", "html": "html", "css": "css",
    "shell": "sh", "sql": "sql", "header": "{h,hpp}",
}  # fmt: skip
_KINDS = {
    "class": re.compile(r"\bclass(?:es)?\b|クラス", re.IGNORECASE),
    "function": re.compile(r"\b(?:functions?|methods?)\b|関数|メソッド", re.IGNORECASE),
}
_NOTED = re.compile(r"- \w+(?:-\d+)? \S|[(（]|\s")
"""A line of the list of TODOs: an item, what is nested in it, how many more there are."""
_HEADING = re.compile(r"#+\s*(?:TODO|FIXME)s?:?", re.IGNORECASE)
_PEOPLE = "{AUTHORS*,CODEOWNERS,MAINTAINERS*,CONTRIBUTORS*,pyproject.toml,package.json,Cargo.toml}"
_OF_PROJECT = re.compile(
    r"\b(?:project|repo(?:sitory)?|code ?base|package|library|software|program|tool|this|authors?|maintainers?"
    r"|contributors?)\b|作者|開発者|メンテナ|プロジェクト|リポジトリ",
    re.IGNORECASE,
)
_ABOUT_SOMEBODY = re.compile(
    r"\b(?:live|lives|born|age|old|city|country|married|salary|phone|win|won)\b", re.IGNORECASE
)


def listed(talk: Talk, question: Question) -> Plan:
    """The files of a folder, or the definitions of a file."""
    if not question.subject:
        if glob := _glob(talk.question):
            (result,) = yield (names(pattern=glob),)
            return _files(talk, glob, read_listing(result.text))
        kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(talk.question)), "")
        if kind or re.search(r"\b(?:endpoints?|routes?|models?|commands?)\b", talk.question):
            return (yield from concept(talk))
        (result,) = yield (names(),)
        return _files(talk, ".", read_listing(result.text))
    if name_in(question.subject) and "/" not in question.subject:
        return (yield from _members(talk, question.subject))
    path = question.subject.rstrip("/")
    if re.search(r"\.\w+$", path):
        (result,) = yield (outline(path),)
        if not result.error:
            return _definitions(talk, path, read_outline(result.text))
    (result,) = yield (names(path),)
    if result.error:
        return say(talk.japanese, "no_path", path=path)
    return _files(talk, path, read_listing(result.text))


def _members(talk: Talk, name: str) -> Plan:
    """What is defined in a class."""
    found = yield from definitions_of(name)
    if not found:
        return say(talk.japanese, "no_definition", name=name)
    best = found[0]
    (result,) = yield (outline(best.path),)
    inside = [
        item
        for item in read_outline(result.text)
        if best.line < item.start <= best.end and item.name.split(".")[-2:-1] == [best.name]
    ]
    lines = [f"- {place(best.path, item.start)} — {item.kind} `{item.name}`" for item in inside[:_MOST]]
    rest = [f"- … +{len(inside) - _MOST}"] if len(inside) > _MOST else []
    heading = say(talk.japanese, "defined_in", count=len(inside), path=f"`{name}` ({place(best.path, best.line)})")
    return "\n".join([heading, *lines, *rest])


def counted(talk: Talk, question: Question) -> Plan:
    """How many files there are, in a folder or of a language; how many definitions in a file."""
    text = talk.question
    if question.subject and re.search(r"\.\w+$", question.subject):
        return (yield from listed(talk, question))
    glob = _glob(text)
    if glob is None and not re.search(r"\bfiles?\b|\bmodules?\b|ファイル|モジュール", text, re.IGNORECASE):
        return (yield from concept(talk, prefer="constant"))
    (result,) = yield (names(question.subject.rstrip("/"), pattern=glob or ""),)
    found = read_listing(result.text)
    if glob:
        return say(talk.japanese, "files_fit", count=found.total, pattern=glob)
    return _files(talk, question.subject or ".", found)


def tests_for(talk: Talk, name: str) -> Plan:
    """The files of tests, for a subject where there is one: those whose names fit it first, then what is in them."""
    terms = tuple(term for term in terms_of(talk.question) if _is_a_subject(term, talk))
    if not terms:
        (result,) = yield (names(pattern=_TESTS),)
        return _tests(talk, "", _test_files(read_listing(result.text), None), read_listing(result.text).folders)
    subject = " ".join(term.text for term in terms)
    if name:
        return (yield from _tests_naming(talk, name))
    words = [stem(alternative.words[0]) for term in terms for alternative in term.alternatives[:3]]
    (result,) = yield (names(pattern=names_with([word for word in words if len(word) > 2] or ["test"])),)
    judge = Judge(terms, {}, "test")
    found = _test_files(read_listing(result.text), judge)
    if found:
        return _tests(talk, subject, found, {})
    return (yield from concept(talk, wanted="test"))


def _tests_naming(talk: Talk, name: str) -> Plan:
    """The test files in which a name occurs, where it occurs most first."""
    (result,) = yield (search(whole(name), files="source"),)
    hits = [hit for hit in read_hits(result.text).hits if place_of(hit.path) == "test"]
    counts = Counter(hit.path for hit in hits)
    if not counts:
        return say(talk.japanese, "no_tests", about=say(talk.japanese, "tests_about", subject=f"`{name}`"))
    firsts = {hit.path: hit for hit in reversed(hits)}
    lines = numbered(
        (path, firsts[path].line, firsts[path].text.strip()) for path, _ in counts.most_common(_MOST_TESTS)
    )
    return "\n".join(
        [say(talk.japanese, "tests", about=say(talk.japanese, "tests_about", subject=f"`{name}`")), *lines]
    )


def todo(talk: Talk, question: Question) -> Plan:
    """What the project's notes have as open, unless it is about a file; then lines that say TODO or FIXME, those of the
    program first."""
    calls = (search(r"(?:^|[^A-Za-z0-9_])(?:TODO|FIXME)(?:[^A-Za-z0-9_]|$)", path=question.subject),)
    result, *noted = yield (calls if question.subject else (*calls, open_todos()))
    kept = [line for one in noted if not one.error for line in one.text.split("\n") if _NOTED.match(line)]
    parts = [say(talk.japanese, "open_todos"), *kept] if kept else []
    found = read_hits(result.text)
    hits = [hit for hit in found.hits if not _HEADING.fullmatch(hit.text.strip())]
    if hits:
        parts += [""] * bool(parts) + _said(talk, hits, truncated=found.truncated)
    if noted and (told := unread(talk, noted[0])):
        return "\n".join([told, "", *(parts or [say(talk.japanese, "no_todo_lines")])])
    known = noted and not noted[0].error
    return "\n".join(parts) or say(talk.japanese, "no_todo" if known else "no_todo_lines")


def _said(talk: Talk, hits: Sequence[Hit], *, truncated: bool) -> list[str]:
    ordered = sorted(hits, key=lambda hit: (-worth(hit.path), hit.path, hit.line))
    more = say(talk.japanese, "at_least") if truncated else ""
    lines = numbered((hit.path, hit.line, hit.text.strip()) for hit in ordered[:15])
    rest = len(ordered) - len(lines)
    heading = say(talk.japanese, "todo", count=len(ordered), more=more)
    return [heading, *lines, *([f"- … +{rest}"] if rest else [])]


def people(talk: Talk) -> Plan:
    """Who made the project, where a file of it says so. Of anybody else nothing is known."""
    if not _OF_PROJECT.search(talk.question) or _ABOUT_SOMEBODY.search(talk.question):
        return say(talk.japanese, "nobody")
    (result,) = yield (names(pattern=_PEOPLE),)
    files = sorted(
        read_listing(result.text).files, key=lambda path: (path.count("/"), path.endswith(("toml", "json")), path)
    )
    for path in files[:3]:
        (told,) = yield (read(path, 1, 60),)
        lines = [(number, line) for number, line in enumerate(told.text.split("\n"), 1) if line.strip()]
        if path.endswith((".toml", ".json")):
            lines = [
                (number, line)
                for number, line in lines
                if re.search(r"author|maintainer|@\w+\.\w", line, re.IGNORECASE)
            ]
        if lines and not told.error:
            at = place(path, lines[0][0])
            return "\n".join(
                [say(talk.japanese, "people", place=at), "", *(f"> {line.strip()}" for _, line in lines[:10])]
            )
    return say(talk.japanese, "nobody")


def _is_a_subject(term: Term, talk: Talk) -> bool:
    return (
        term.text.lower() not in vocabulary.named("of_tests") and stem(term.text.lower()) not in talk.project.name_stems
    )


def _test_files(found: Listing, judge: Judge | None) -> list[str]:
    """The test files that fit, the best first."""
    files = [path for path in found.files if place_of(path) == "test" and not path.endswith((".pyc", ".map"))]
    if judge is None:
        return sorted(files, key=lambda path: (path.count("/"), path))
    fitting = [(sum(judge.file_fits(path)), path) for path in files]
    best = max((fit for fit, _ in fitting), default=0.0)
    return [
        path
        for fit, path in sorted(fitting, key=lambda item: (-item[0], len(item[1]), item[1]))
        if fit and fit >= best / 2
    ]


def _tests(talk: Talk, subject: str, files: Sequence[str], folders: dict[str, int]) -> str:
    about = say(talk.japanese, "tests_about", subject=subject) if subject else ""
    if not files and not folders:
        return say(talk.japanese, "no_tests", about=about)
    lines = [f"- {place(path, 1)}" for path in files[:10]]
    rest = [f"- … +{len(files) - 10}"] if len(files) > 10 else []
    tests_in = Counter({folder: count for folder, count in folders.items() if place_of(folder + "x") == "test"})
    lines += [f"- {folder} ({say(talk.japanese, 'files', count=count)})" for folder, count in tests_in.most_common(10)]
    return "\n".join([say(talk.japanese, "tests", about=about), *lines, *rest])


def _files(talk: Talk, folder: str, found: Listing) -> str:
    if not found.total:
        return say(talk.japanese, "empty") if folder == "." else say(talk.japanese, "files_in", count=0, folder=folder)
    lines = [f"- {name} ({say(talk.japanese, 'files', count=count)})" for name, count in found.folders.items()]
    lines += [f"- {path}" for path in found.files]
    rest = [f"- … +{len(lines) - _MOST}"] if len(lines) > _MOST else []
    return "\n".join([say(talk.japanese, "files_in", count=found.total, folder=folder), *lines[:_MOST], *rest])


def _definitions(talk: Talk, path: str, outlined: Sequence[Outlined]) -> str:
    wanted = next((kind for kind, pattern in _KINDS.items() if pattern.search(talk.question)), "")
    functions = ("function", "method", "macro")
    chosen = [item for item in outlined if not wanted or (item.kind in functions) == (wanted == "function")]
    if is_secret(path):
        chosen = []
    lines = [f"- {place(path, item.start)} — {item.kind} `{item.name}`" for item in chosen[:_MOST]]
    rest = [f"- … +{len(chosen) - _MOST}"] if len(chosen) > _MOST else []
    return "\n".join([say(talk.japanese, "defined_in", count=len(chosen), path=path), *lines, *rest])


def _glob(text: str) -> str | None:
    """The files a language, a suffix or "tests" stands for."""
    if told := re.search(r"(?<![\w/])\*?\.([A-Za-z]\w{0,5})(?= files?\b|ファイル|の)", text):
        return f"*.{told[1]}"
    lowered = text.lower()
    for language, suffix in _LANGUAGES.items():
        if re.search(rf"(?<!\w){re.escape(language)}(?:の)?\s*(?:source )?(?:files?|modules?|ファイル)", lowered):
            return f"*.{suffix}"
    return _TESTS if re.search(r"\btests?\b(?: files?)?|テスト", lowered) else None
