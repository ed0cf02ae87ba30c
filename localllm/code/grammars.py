"""The supported languages and their tree-sitter grammars. A grammar is loaded for its first file."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query


class Grammar(NamedTuple):
    """A grammar: its module, the query files of `queries/` for it, and the file names it applies to."""

    module: str
    queries: tuple[str, ...]
    suffixes: tuple[str, ...]
    names: tuple[str, ...] = ()
    function: str = "language"


GRAMMARS: dict[str, Grammar] = {
    "bash": Grammar("tree_sitter_bash", ("bash",), (".sh", ".bash"), (".bashrc", ".bash_profile", ".profile")),
    "c": Grammar("tree_sitter_c", ("c",), (".c", ".h")),
    "cpp": Grammar("tree_sitter_cpp", ("c", "cpp"), (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp")),
    "csharp": Grammar("tree_sitter_c_sharp", ("csharp",), (".cs", ".csx")),
    "go": Grammar("tree_sitter_go", ("go",), (".go",)),
    "java": Grammar("tree_sitter_java", ("java",), (".java",)),
    "javascript": Grammar("tree_sitter_javascript", ("ecmascript", "javascript"), (".js", ".mjs", ".cjs", ".jsx")),
    "php": Grammar("tree_sitter_php", ("php",), (".php", ".phtml"), function="language_php"),
    "python": Grammar("tree_sitter_python", ("python",), (".py", ".pyi", ".pyw")),
    "ruby": Grammar("tree_sitter_ruby", ("ruby",), (".rb", ".rake", ".gemspec"), ("Gemfile", "Rakefile")),
    "rust": Grammar("tree_sitter_rust", ("rust",), (".rs",)),
    "tsx": Grammar("tree_sitter_typescript", ("ecmascript", "typescript"), (".tsx",), function="language_tsx"),
    "typescript": Grammar(
        "tree_sitter_typescript",
        ("ecmascript", "typescript"),
        (".ts", ".mts", ".cts"),
        function="language_typescript",
    ),
}

_CPP_HEADER = re.compile(rb"^[ \t]*(?:class|namespace|template|using|public:|private:)\b", re.MULTILINE)


def language_of(file_name: str, text: bytes = b"") -> str | None:
    """Return the key of GRAMMARS for a file name; None if there is no grammar for it.

    `text` (its beginning suffices) distinguishes a C++ header from a C header.
    """
    path = PurePath(file_name)
    language = _by_suffix().get(path.suffix.lower()) or _by_suffix().get(path.name)
    if language == "c" and path.suffix.lower() == ".h" and _CPP_HEADER.search(text):
        return "cpp"
    return language


@cache
def _by_suffix() -> dict[str, str]:
    return {key: language for language, g in GRAMMARS.items() for key in (*g.suffixes, *g.names)}


@cache
def load(language: str) -> "Language":
    """Load the grammar for a key of GRAMMARS; raises KeyError. Grammars stay loaded; the first takes
    milliseconds."""
    from tree_sitter import Language

    grammar = GRAMMARS[language]
    pointer: object = getattr(import_module(grammar.module), grammar.function)()
    return Language(pointer)


def parser(language: str) -> "Parser":
    """Return a new parser for a key of GRAMMARS."""
    from tree_sitter import Parser

    return Parser(load(language))


@cache
def outline_query(language: str) -> "Query":
    """Return the query for definitions, imports, branches and comments; see `outline` for its captures."""
    from tree_sitter import Query

    folder = Path(__file__).parent / "queries"
    sources = [(folder / f"{name}.scm").read_text("utf-8") for name in GRAMMARS[language].queries]
    return Query(load(language), "\n".join(sources))
