"""What is known of a project."""

from typing import Literal

import msgspec

from localllm.project.file_facts import FileFacts, Habits
from localllm.project.manifests.commands import best
from localllm.project.manifests.signs import Command

Role = Literal[
    "", "tests", "docs", "source", "scripts", "ci", "examples", "migrations", "static", "benchmarks", "config", "data",
    "packages", "deploy", "foreign", "types", "locales",
]  # fmt: skip
"""What a folder's name says it holds."""


Reason = Literal["files", "seconds", "unread", "unreadable", "unused", "broken", "packages"]
"""Why something was passed over: too many files, no time to find more or to read all, files and manifests that cannot
be read, manifests that are not in their own format, too many packages."""


class LanguageShare(msgspec.Struct, frozen=True):
    """How much there is of a language; `exact`: every file was read, else its lines are estimated by bytes."""

    name: str
    files: int
    lines: int
    exact: bool = True


class FolderFacts(msgspec.Struct, frozen=True):
    """A folder: how many files are in and below it, the language most are in, and what it says of itself."""

    path: str
    files: int
    language: str = ""
    role: Role = ""
    about: str = ""


class Package(msgspec.Struct, frozen=True):
    """A folder of a project of several that is built for itself; `test` is run in it."""

    path: str
    name: str
    manifest: str
    test: str = ""


class Style(msgspec.Struct, frozen=True):
    """The habits seen in `files` files of a language, added up."""

    language: str
    files: int
    habits: Habits


class PassedOver(msgspec.Struct, frozen=True):
    """What was not looked at: why, how many, and one of them."""

    reason: Reason
    count: int
    name: str = ""


class ProjectAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """A project. Everything is sorted, what matters most first; paths are relative to it, with `/`."""

    languages: tuple[LanguageShare, ...] = ()
    frameworks: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    entry_points: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    folders: tuple[FolderFacts, ...] = ()
    packages: tuple[Package, ...] = ()
    styles: tuple[Style, ...] = ()
    files: int = 0
    passed_over: tuple[PassedOver, ...] = ()

    @property
    def test_command(self) -> str:
        """The command that runs the tests, in the project's folder; "" where none was found."""
        found = best(self.commands, "test")
        return found.line if found else ""

    @property
    def lines(self) -> int:
        """All lines of code."""
        return sum(language.lines for language in self.languages)


class FilesAnalysis(msgspec.Struct, frozen=True):
    """What many files show together. `facts`: each file by its path. By language: the `lines` of those files, the
    `imports` with how many files have them, and the `styles`, where there is most of it first. `programs`: the files
    that can be started, with how (see FileFacts). `unreadable`: the files that could not be read; `read`: how many had
    to be, because they were new or changed."""

    facts: dict[str, FileFacts] = {}
    lines: dict[str, int] = {}
    imports: dict[str, dict[str, int]] = {}
    styles: tuple[Style, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[str, ...] = ()
    read: int = 0
