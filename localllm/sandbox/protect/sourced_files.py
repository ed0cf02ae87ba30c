"""Find the files that direnv, mise or hermit reads into the user's shell, such as an exported `.env`.

None asks for a changed one, direnv only for a changed `.envrc`, and what a variable does nobody can list: so these
files are protected like the settings that name them.
"""

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any, cast

from localllm.base.folded_names import folded
from localllm.base.lazy_patterns import late_pattern

_MISE = late_pattern(r"\.?(?:mise|rtx)[\w.-]*\.toml|config(?:\.\w+)*\.toml")
_FOLDERS_OF_MISE = frozenset({".config", ".mise", ".rtx", "mise", "rtx", "conf.d"})
"""What its settings name is looked for above these."""

_SOURCING = late_pattern(
    r"(?m)(?:^|[\s;&|({\\])(dotenv|dotenv_if_exists|source_env|source_env_if_exists|source|\.|use[ \t]vim|use_vim"
    r"|direnv_apply_dump)"
    r"(?:(?=$|[;&|)])|[ \t]+)(?:--[ \t]+)?"
)
_COMMENT = late_pattern(r"(?m)^[ \t]*#.*$")
_MENTIONED = late_pattern(r"(?<![\w.-])(?<![\w.-]/)(?:[\w.-]+/)*\.env(?:\.[\w-]+)*(?![\w.-])")
_TOP = late_pattern(r"^(?:\$\{?\w+(?:\[\w*\])?\}?|\$\([^()]*\)|`[^`]*`|~\+?|\{\{[^{}]*\}\})/")
"""What stands for the folder: `$PWD/`, `$(pwd)/`, `{{config_root}}/`."""

_EXPANDED = late_pattern(r"^\$\(expand_path[ \t]+([^()\s]+)\)$")
"""A function of direnv, which joins a path to the folder."""

_SCRIPT = late_pattern(r"\.(?:sh|bash|zsh|fish|nu|ps1|py|rb|pl|lua|[cm]?[jt]s)\Z")
_INTERPRETER = late_pattern(r"(?:.*/)?(?:ba|z|da|k|fi)?sh|(?:.*/)?(?:python[\d.]*|node|ruby|perl|source|\.)")
_MISE_ITSELF = late_pattern(r"(?:.*/)?(?:mise|rtx)")
_AROUND = late_pattern(r"[$<]\(|[`)]|\A[\w-]+=")
"""What stands around a command within a word, or before a path."""

_BETWEEN_WORDS = " \t\n;&|()"
_EXECUTED = late_pattern(r"\bexec\([ \t]*command[ \t]*=[ \t]*(?:\"([^\"\n]*)|'([^'\n]*)|`([^`\n]*))")
"""In a template, whose text mise runs for the value."""

_MOST_NAMED = 50
_MOST_WORDS = 1_000
_LONGEST_WORD = 4_096


def sourced_by(path: str, content: bytes) -> Iterator[str]:
    """Yield what the file at `path`, if it is of direnv, mise or hermit, has read or run, relative to its folder; as
    far as it names that plainly."""
    name = folded(path.rpartition("/")[2])
    if name == "activate-hermit":
        yield "hermit"  # beside it, which a hook of the shell activates when the folder is entered
    is_of_direnv = name == ".envrc"
    if not (is_of_direnv or _is_of_mise(path)):
        return
    text = _COMMENT.sub("", content.decode("utf-8", "surrogateescape"))
    text = text.replace("\\\n", "") if is_of_direnv else text
    named = [match[0] for match in islice(_MENTIONED.finditer(text), _MOST_NAMED)]
    named += islice(_of_direnv(text) if is_of_direnv else _of_mise(text), _MOST_NAMED)
    above = "" if is_of_direnv else _above(path)
    for one in dict.fromkeys(_TOP.sub("", _EXPANDED.sub(r"\1", one)) for one in named):
        if "/activate" not in one:  # of an environment: written whenever that is made anew
            yield one
            if above:
                yield above + one


def is_sourcing(path: str) -> bool:
    """Return whether the file is one of direnv or mise, by which they read others."""
    return folded(path.rpartition("/")[2]) == ".envrc" or _is_of_mise(path)


def versions_beside(path: str) -> Iterator[str]:
    """Yield the file of versions that mise reads as a template, which may run programs, where the user trusts settings
    of mise at `path`; relative to their folder."""
    if _is_of_mise(path):
        yield f"{_above(path)}.tool-versions"


def _is_of_mise(path: str) -> bool:
    name = folded(path.rpartition("/")[2])
    return bool(_MISE.fullmatch(name)) or (name.endswith(".toml") and "mise/conf.d/" in folded(f"/{path}"))


def _above(path: str) -> str:
    """Return the way from the folder of mise's settings to the one that they are for."""
    *folders, _ = folded(path).split("/")
    return "../" * sum(1 for _ in takewhile(_FOLDERS_OF_MISE.__contains__, reversed(folders)))


def _of_direnv(text: str) -> Iterator[str]:
    for match in _SOURCING.finditer(text):
        if word := _word(text, match.end())[0]:
            yield word
        elif match[1].startswith("dotenv"):
            yield ".env"
        elif match[1].startswith("use"):
            yield ".vimrc.local"


def _word(text: str, start: int) -> tuple[str, int]:
    """Return the word of a shell that begins there, without its quotes, and its end; "" if the command ends there."""
    word: list[str] = []
    quote, depth, is_escaped, in_backquotes = "", 0, False, False
    line = text[start : start + _LONGEST_WORD].partition("\n")[0]
    for at, letter in enumerate(line):
        is_within = bool(quote or depth or in_backquotes)
        if is_escaped or (letter == "\\" and quote != "'"):
            is_escaped = not is_escaped
            if is_escaped:
                continue
        elif letter == quote or (letter in "\"'" and not quote):
            quote = "" if quote else letter
            continue
        elif (letter in " \t;&|)" and not is_within) or (letter == "#" and not word):
            return "".join(word), start + at
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            in_backquotes ^= letter == "`"
        word.append(letter)
    return "".join(word), start + len(line)


def _of_mise(text: str) -> Iterator[str]:
    import tomllib

    try:
        said: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    yield from _strings([said.get("env_file"), _items(said.get("settings")).get("env_file")])
    for table in (*_list(said.get("env")), *_list(said.get("vars"))):
        for directives in (_items(_items(table).get(key)) for key in ("_", "mise")):
            yield from _strings([directives.get(key) for key in ("file", "source")])
    tasks: list[str] = []
    for match in islice(_EXECUTED.finditer(text), _MOST_NAMED):
        yield from _of_command(match[match.lastindex or 0], tasks)
    tools = [_items(one).get("postinstall") for tool in _items(said.get("tools")).values() for one in _list(tool)]
    yield from _of_hook([*_items(said.get("hooks")).values(), said.get("watch_files"), tools], tasks)
    of_settings = _items(said.get("tasks"))
    by_alias = {name: one for one in of_settings.values() for name in _strings(_items(one).get("alias"))}
    for name in tasks:  # which grows meanwhile
        yield from _of_hook(of_settings.get(name) or by_alias.get(name), tasks)
    included = [one.rstrip("/") for one in _strings(_items(said.get("task_config")).get("includes"))]
    folders = [one for one in included if not one.endswith(".toml")]
    yield from (one for one in included if tasks and one not in folders)
    yield from (file for name in tasks for file in _files_of_task(name, folders))


def _of_hook(value: object, tasks: list[str]) -> Iterator[str]:
    """Yield what a hook, or a task, runs by itself; the names of the tasks it has run are added to `tasks`."""
    match value:
        case str():
            yield from _of_command(value, tasks)
        case list():
            for one in cast(list[object], value):
                yield from _of_hook(one, tasks)
        case dict():
            table = cast(dict[str, object], value)
            yield from _of_hook([table.get(key) for key in ("run", "script", "scripts")], tasks)
            yield from _strings(table.get("file"))
            for named in _strings([table.get(key) for key in ("task", "tasks", "depends", "depends_post")]):
                _add_task(next(iter(named.split()), ""), tasks)
        case _:
            return


def _files_of_task(name: str, included: list[str]) -> Iterator[str]:
    for folder in (*included, "mise-tasks", ".mise-tasks", "mise/tasks"):
        file = f"{folder}/{name.replace(':', '/')}"
        yield from (file, f"{file}.*")


def _add_task(name: str, tasks: list[str]) -> None:
    if name and name not in tasks and len(tasks) < _MOST_NAMED:
        tasks.append(name)


def _of_command(text: str, tasks: list[str]) -> Iterator[str]:
    """Yield the words of a command that may name a file which it runs or sources; the names of tasks that it may have
    mise run are added to `tasks`."""
    texts = [text]
    words = ((word, part is text) for part in texts for word in _words(part))  # which grow meanwhile
    before, is_of_mise = "", False
    for word, is_outer in islice(words, _MOST_WORDS):
        is_of_mise |= bool(_MISE_ITSELF.fullmatch(before))
        if is_of_mise and not word.startswith("-"):
            _add_task(word, tasks)
        is_argument = bool(_INTERPRETER.fullmatch(before))
        if is_argument and word.startswith("-"):
            continue
        is_path = "/" in word and "://" not in word and not before.endswith(">")
        if is_argument or is_path or _SCRIPT.search(word) or (is_outer and not before):
            yield word
        inner = _AROUND.sub(" ", word).strip()
        if (inner != word or " " in word) and len(texts) < _MOST_NAMED:
            texts.append(inner)
        before = word


def _words(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        if text[at] in _BETWEEN_WORDS:
            at += 1
            continue
        word, end = _word(text, at)
        if end == at:  # a comment
            end = text.find("\n", at) % (len(text) + 1)
        elif word:
            yield word
        at = end


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else [value]


def _items(value: object) -> dict[str, object]:
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _strings(value: object) -> Iterator[str]:
    """Yield a path, those of a list, or those of a table (`{ path = … }`), or the name of a task."""
    match value:
        case str():
            yield value
        case list():
            for one in cast(list[object], value):
                yield from _strings(one)
        case dict():
            table = cast(dict[str, object], value)
            yield from _strings([table.get(key) for key in ("path", "paths", "value", "values", "task")])
        case _:
            return
