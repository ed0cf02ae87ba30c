"""Where to search: which folders are the program, which files are source code."""

from collections.abc import Sequence
from typing import NamedTuple

from localllm.code.definition_patterns import SETTINGS
from localllm.lookup.calls import Files
from localllm.lookup.conversation import Project
from localllm.lookup.places import Place, is_aside

_CODE_SUFFIXES = (".py", ".js", ".mjs", ".ts", ".go", ".rs", ".c", ".h", ".cpp", ".rb", ".java", ".php", ".sh")


class Scope(NamedTuple):
    """A folder ("" for all) and which files."""

    path: str
    files: Files


def code_files(project: Project, wanted: Place | None = None) -> Scope:
    """The project's source files: where all its own code is in one folder, only that, unless `wanted` is elsewhere."""
    roots = [item[:-1] for item in project.top if item.endswith("/")]
    own = [root for root in roots if not is_aside(root) and not root.startswith(".")]
    alone = len(own) == 1 and not wanted and not any(item.endswith(_CODE_SUFFIXES) for item in project.top)
    return Scope(own[0] if alone else "", "source")


def names_with(words: Sequence[str]) -> str:
    """A glob of the files and folders in whose names one of `words` occurs: small, capitalised or in capitals."""
    forms = [form for word in words for form in (f"*{_any_case(word)}*", f"*{word.upper()}*")]
    return "{" + ",".join(dict.fromkeys(forms)) + "}"


def _any_case(word: str) -> str:
    first = word[0]
    return f"[{first.upper()}{first.lower()}]{word[1:]}" if first.isalpha() and first.isascii() else word


DOCUMENTS = f"*.{{md,rst,txt,adoc,html,xml,example,sample,{SETTINGS}}}"
"""Files that are no code and yet tell."""
