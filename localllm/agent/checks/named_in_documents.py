"""Find what a document about a project names that the project lacks: files that commands run or read, targets of links,
functions of its own Python modules.

Nothing is said of what the text tells to make, of generated folders, placeholders, and of other programs and packages.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import unquote

from localllm.agent.phrases.phrase_search import ends_of
from localllm.base.directory_walk import ProjectListing
from localllm.base.lazy_patterns import late_pattern

_DOCUMENT = late_pattern(
    r"(?i)(?:^|/)(?:readme|contributing|install|usage|getting.?started)[^/]*\.(?:md|markdown)$|^docs?/.*\.md$"
)
_ORDERED = late_pattern(
    r"(?i)\b(?:readme|contributing|documentation|docs|document|guide|manual|instructions|tutorial)\b"
    r"|readme|説明書|使い方|手順書|手順|ドキュメント|マニュアル|手引き|ガイド"
)
_OTHER_WORK = late_pattern(
    r"(?i)\b(?:implement|build|scaffold|bootstrap|set up|refactor|rename|fix|plan"
    r"|propos\w*|design|template|example|sample|translat\w*"
    r"|(?:create|write|make|add|develop) (?:an?|the|another|some|new|two|three) (?:\w+ ){0,3}?"
    r"(?:apps?|project|program|scripts?|modules?|packages?|cli|api|tools?|library|functions?|class|tests?|commands?"
    r"|options?|servers?|features?))\b"
    r"|実装|(?:アプリ|スクリプト|モジュール|関数|機能|テスト|ツール|プログラム|プロジェクト|コマンド|オプション)を?(?:新しく)?(?:作|追加|書)"
    r"|直し|修正|リファクタ|改名|計画|設計|提案|案を|雛形|ひな形|テンプレート|サンプル|翻訳|訳して"
)
"""Matches orders for more than a document, or one of what is not there yet."""

_FENCE = late_pattern(r"(?ms)^[ \t]*+(`{3}|~{3})[`~ \t]*+([\w+-]*+)[^\n]*+\n(.*?)(?:^[ \t]*+\1[`~ \t]*+$|\Z)")
_SHELL = frozenset({"", "sh", "bash", "shell", "zsh", "console", "terminal", "shellsession", "shell-session", "text"})
_PYTHON = frozenset({"python", "py", "python3", "pycon"})
_LINK = late_pattern(r"\]\(\s*(?:<([^<>\n]{1,300})>|([^\s()<>]{1,300}))")
_CODE_SPAN = late_pattern(r"`[^`\n]*`")
_INLINE = late_pattern(r"`([a-z_]\w{0,60}(?:\.\w{1,60}){1,5})\([^`\n]{0,200}\)`")
_BRANCH = late_pattern(r"(?m)^([ \t│|]{0,60}[├└+`][─-]{1,3} ?)([^\s#()（…]{1,100})([^\n]*)$")
_LISTED = late_pattern(r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)]|\|)[ \t]+[*_]{0,3}`((?!\d+\.\d)[\w./-]{1,100})`")
_WORD = late_pattern(r"'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]+")
_IMPORT = late_pattern(r"(?m)^[ \t]*(?:>>> |\.\.\. )?import[ \t]+([\w., \t]{1,300})")
_FROM = late_pattern(
    r"(?m)^[ \t]*(?:>>> |\.\.\. )?from[ \t]+(\w[\w.]{0,200})[ \t]+import[ \t]+(?:\(([^()]{1,2000})\)|([^\n#(]{1,300}))"
)
_BOUND = late_pattern(
    r"(?m)^[ \t]*(?:>>> |\.\.\. )?(\w{1,60})(?:[ \t]*:[^=\n]{1,60})?[ \t]*=[^=]|\b(?:as|for|def|class)[ \t]+(\w{1,60})"
)
_USE = late_pattern(r"(?<![\w.'\"/-])([a-z_]\w{0,60}(?:\.\w{1,60}){1,5})(?![\w/])")

_MADE = late_pattern(
    r"(?i)\b(?:creat|generat|writ|sav|mak|produc|build|built|output|plac|put|copy|copi|download|add|provid|export|store"
    r"|will|your own|fetch|prepar)\w*|作|生成|出力|保存|用意|置|ダウンロード|書き出|コピー|追加|取得|準備"
)
"""Matches a line that tells how a file comes to be."""
_GENERATED = frozenset(
    "build dist target out output node_modules venv .venv env .env htmlcov site public coverage bin obj tmp logs"
    " __pycache__ .git .tox .nox".split()
)
_STAND_IN = late_pattern(
    r"(?i)[<>{}$*?\[\]|%~]|\.\.\.|…|path/to|your|(?:^|[/_.-])(?:my|foo|bar|baz|xxx|script|file|example|input|name)(?:[_.-]|$)"
    r"|(?-i:^[A-Z_]{2,}(?:\.\w+)?$)|^(?:/|\w+:)|^-"
)
"""Matches what stands for a name, an option, and what is not in the project."""
_RUNNERS = frozenset("python python3 py sh bash zsh node ruby php perl deno bun source . pytest".split())
_LONGEST = 100_000
_MOST_NAMED = 5

Read = Callable[[str], str | None]


def is_about_project(path: str, request: str) -> bool:
    """Return whether a file is a document of what the project has, which is all that the request orders."""
    said = ends_of(request)
    return bool(_DOCUMENT.search(path) and _ORDERED.search(said) and not _OTHER_WORK.search(said))


def unknown_names(path: str, text: str, listing: ProjectListing, read: Read, request: str = "") -> list[str]:
    """Return what a document at a path names, as written, that the project does not have; nothing that the request
    names. `read` returns the text of a file. Raises OSError."""
    if len(text) > _LONGEST or not listing.is_complete:
        return []
    files = _Files(path, listing)
    if not files.have_code:
        return []
    blocks = [(one[2].lower(), one[3]) for one in _FENCE.finditer(text)]
    prose = _FENCE.sub("\n", text)
    made = _made_by(text, blocks)
    commands = [line for kind, block in blocks if kind in _SHELL for line in _commands(block)]
    told = "\n".join(line for line in _LINK.sub("](", prose).splitlines() if _MADE.search(line))
    lacking = dict.fromkeys(
        (*_of_commands(commands, files), *_of_links(prose, files), *_of_lists(prose, blocks, files))
    )
    named = [one for one in lacking if PurePosixPath(one).name not in made and PurePosixPath(one).name not in told]
    code = "\n".join(block for kind, block in blocks if kind in _PYTHON)
    named += _of_python(code, prose, commands, files, read)
    return [one for one in dict.fromkeys(named) if PurePosixPath(one).name not in request][:_MOST_NAMED]


class _Files:
    """The files of a project as a document at a path names them."""

    def __init__(self, path: str, listing: ProjectListing) -> None:
        self._root = listing.root
        self._folder = PurePosixPath(path).parent
        paths = [PurePosixPath(one.path) for one in listing.entries]
        self._names = {one.name for one in paths}
        self.modules = {name: str(one) for one in paths if one.suffix == ".py" for name in [_module(one)]}
        self.packages = {one for name in self.modules for one in _with_parents(name)}
        """The names of the modules and of what they are in."""
        self.have_code = any(one.suffix in _CODE for one in paths)

    def have(self, path: str) -> bool:
        """Return whether there is such a file, or one of its name elsewhere."""
        plain = path.removeprefix("./").rstrip("/")
        places = (self._root / plain, self._root / self._folder / plain, self._root / f"{plain}.md")
        return PurePosixPath(plain).name in self._names or any(place.exists() for place in places)


_CODE = frozenset(
    ".py .js .ts .tsx .jsx .mjs .go .rs .rb .java .kt .c .cc .cpp .h .cs .php .sh .pl .swift .scala .lua .ex".split()
)
_SOURCES = frozenset({"src", "lib", "python"})


def _module(path: PurePosixPath) -> str:
    parts = path.with_suffix("").parts
    parts = parts[1:] if len(parts) > 1 and parts[0] in _SOURCES else parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


# --- files


def _commands(block: str) -> Iterator[str]:
    """Yield the commands of a block; of one with prompts only what follows them."""
    lines = block.replace("\\\n", " ").splitlines()
    prompted = [line.lstrip()[2:] for line in lines if line.lstrip().startswith(("$ ", "% "))]
    for line in prompted or lines:
        plain = line.partition(" #")[0].strip()
        if plain and not plain.startswith("#"):
            yield from re.split(r"&&|\|\||[;|]", plain)


def _words(command: str) -> list[str]:
    words = [word.strip("'\"") for word in _WORD.findall(command)]
    while words and (
        re.match(r"[A-Z_]+=", words[0]) or words[0] in ("sudo", "uv", "poetry", "run", "pipenv", "exec", "time")
    ):
        words = words[1:]
    return words


def _of_commands(commands: Sequence[str], files: _Files) -> Iterator[str]:
    """Yield the files that commands need and that are not there."""
    for command in commands:
        for path in _needed(_words(command)):
            plain = path.partition("::")[0]
            is_generated = any(part in _GENERATED for part in PurePosixPath(plain).parts[:-1])
            if plain and not (
                _STAND_IN.search(plain) or is_generated or plain.startswith((".env", "..")) or files.have(plain)
            ):
                yield plain


def _needed(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a command runs or reads."""
    if not words:
        return
    program, given = words[0], words[1:]
    if program in ("python", "python3", "py") and given[:2] == ["-m", "pytest"]:
        program, given = "pytest", given[2:]
    if program in ("python", "python3", "py") and given[:2] == ["-m", "pip"]:
        program, given = "pip", given[2:]
    if program.startswith("./"):
        yield program
    elif program in ("pip", "pip3"):
        yield from (file for option, file in pairwise(given) if option in ("-r", "-c", "--requirement"))
    elif program in ("docker", "docker-compose", "make"):
        yield from (file for option, file in pairwise(given) if option in ("-f", "--file"))
    elif program == "go" and given[:1] == ["run"]:
        yield from (one for one in given[1:2] if one.endswith(".go"))
    elif program in ("cp", "pytest"):
        plain = [one for one in given if not one.startswith("-")]
        may_be = plain[:-1] if program == "cp" else plain
        yield from (one for one in may_be if "." in PurePosixPath(one).name or "/" in one) if ">" not in given else ()
    elif program in _RUNNERS and given and not given[0].startswith("-"):
        yield from given[:1] if "." in given[0] or "/" in given[0] else ()


def _of_links(prose: str, files: _Files) -> Iterator[str]:
    """Yield the targets of links that are not there, as far as they are files of the project."""
    for link in _LINK.finditer(_CODE_SPAN.sub("code", prose)):
        path = unquote((link[1] or link[2]).partition("#")[0].partition("?")[0]).lstrip("/")
        name = PurePosixPath(path).name
        is_file = "." in name.strip(".") or name.isupper()
        is_page = name.endswith((".html", ".htm", ".svg")) or path.startswith("../..") or ":" in path
        is_generated = any(part in _GENERATED for part in PurePosixPath(path).parts[:-1])
        if is_file and not (is_page or is_generated or re.search(r"[<>{}$*]|path/to", path) or files.have(path)):
            yield path


def _of_lists(prose: str, blocks: Sequence[tuple[str, str]], files: _Files) -> Iterator[str]:
    """Yield the files that trees of the project and lists of its code show, and that are not there."""
    for _kind, block in blocks:
        generated = _LONGEST
        for branch in _BRANCH.finditer(block):
            depth, name = len(branch[1]), branch[2]
            generated = generated if depth > generated else _LONGEST
            is_generated = any(part in _GENERATED for part in PurePosixPath(name).parts)
            generated = min(generated, depth) if is_generated else generated
            is_other = (
                is_generated
                or depth > generated
                or name.startswith(".")
                or _STAND_IN.search(name)
                or _MADE.search(branch[3])
            )
            if PurePosixPath(name).suffix in (*_CODE, ".md") and not (is_other or files.have(name)):
                yield name  # of data, that git ignores nothing is known
    listed = [name for name in _LISTED.findall(prose) if PurePosixPath(name).suffix in _CODE]
    if 2 * sum(map(files.have, listed)) < len(listed):
        return  # they may be those of other projects
    for name in listed:
        is_generated = any(part in _GENERATED for part in PurePosixPath(name).parts[:-1])
        if not (is_generated or _STAND_IN.search(name) or files.have(name)):
            yield name


def _made_by(text: str, blocks: Sequence[tuple[str, str]]) -> set[str]:
    """Return the names of files that commands of a document make."""
    made: set[str] = set()
    for kind, block in blocks:
        for command in _commands(block) if kind in _SHELL else ():
            words = _words(command)
            made.update(re.findall(r">>?\s*([\w./-]+)", command))
            made.update(word for option, word in pairwise(words) if option in ("-o", "--output", "-O"))
            if words[:1] and words[0] in (
                "touch",
                "mkdir",
                "tee",
                "curl",
                "wget",
                "git",
                "unzip",
                "tar",
                "vi",
                "vim",
                "nano",
            ):
                made.update(words[1:])
            if words[:1] and words[0] in ("cp", "mv", "ln"):
                made.update(words[-1:])
    return {PurePosixPath(one).name for one in made} | {PurePosixPath(one).stem for one in made}


# --- names of modules


def _of_python(code: str, prose: str, commands: Sequence[str], files: _Files, read: Read) -> Iterator[str]:
    """Yield the modules of the project, and the names in them, that a document uses and that are not there."""
    bound = {name for one in _BOUND.findall(code) for name in one if name}
    imported = {"": ""}
    for names in _IMPORT.findall(code):
        for one in names.split(","):
            name, _as, alias = (part.strip() for part in one.partition(" as "))
            imported[alias or name.partition(".")[0]] = name if alias else name.partition(".")[0]
            yield from _missing(name, files, read)
    for module, several, plain in _FROM.findall(code):
        for one in (several or plain).split(","):
            name = one.strip().partition(" ")[0]
            if name.isidentifier():
                yield from _missing(f"{module}.{name}", files, read)
    for use in dict.fromkeys(_USE.findall(re.sub(r"(?m)^.*\bimport\b.*$|#.*$", "", code))):
        first, _dot, rest = use.partition(".")
        if first in imported and first not in bound:
            yield from _missing(f"{imported[first]}.{rest}", files, read)
    for use in _INLINE.findall(prose):
        if use.partition(".")[0] not in bound:
            yield from _missing(use, files, read)
    for command in commands:
        words = _words(command)
        if len(words) > 2 and words[0] in ("python", "python3", "py") and words[1] == "-m":
            yield from _missing(words[2], files, read)


def _missing(dotted: str, files: _Files, read: Read) -> Iterator[str]:
    """Yield a dotted name up to the first part that is not there, if it begins with a module of the project."""
    parts = dotted.split(".")
    if parts[0] not in files.packages or not all(parts):
        return
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if name in files.packages:
            continue
        module = files.modules.get(".".join(parts[: end - 1]))
        source = read(module) if module else ""
        if parts[end - 1].startswith("__"):
            return
        if source is None or re.search(rf"\b{re.escape(parts[end - 1])}\b|__getattr__|import \*", source):
            return
        yield name
        return
