"""The result of a project analysis."""

from typing import Literal

import msgspec

from localllm.project.file_facts import FileFacts, Habits
from localllm.project.manifests.commands import best
from localllm.project.manifests.signs import Command

Role = Literal[
    "", "tests", "docs", "source", "scripts", "ci", "examples", "migrations", "static", "benchmarks", "config", "data",
    "packages", "deploy", "foreign", "types", "locales",
]  # fmt: skip
"""The role of a folder, by its name."""


Reason = Literal["files", "seconds", "unread", "unreadable", "unused", "broken", "packages"]
"""Why something was skipped: too many files, no time to find more or to read all, unreadable files and manifests,
manifests with invalid syntax, too many packages."""


class LanguageShare(msgspec.Struct, frozen=True):
    """The share of a language; `exact`: every file was read, otherwise lines are estimated from bytes."""

    name: str
    files: int
    lines: int
    exact: bool = True


class FolderFacts(msgspec.Struct, frozen=True):
    """A folder: the number of files below it, their main language, and its description."""

    path: str
    files: int
    language: str = ""
    role: Role = ""
    about: str = ""


class Package(msgspec.Struct, frozen=True):
    """A separately built package of a project with several; `test` is run in it."""

    path: str
    name: str
    manifest: str
    test: str = ""


class Style(msgspec.Struct, frozen=True):
    """The habits in `files` files of a language, added up."""

    language: str
    files: int
    habits: Habits


class PassedOver(msgspec.Struct, frozen=True):
    """What was skipped: the reason, the count, and an example."""

    reason: Reason
    count: int
    name: str = ""


class ProjectAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """A project. Everything is sorted by importance; paths are relative to it, with `/`."""

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
        """The command that runs the tests in the project's folder; "" if none was found."""
        found = best(self.commands, "test")
        return found.line if found else ""

    @property
    def lines(self) -> int:
        """All lines of code."""
        return sum(language.lines for language in self.languages)


class FilesAnalysis(msgspec.Struct, frozen=True):
    """The merged facts of many files. `facts`: each file by path. By language: the `lines`, the `imports` with the
    number of files, and the `styles`, most code first. `programs`: the files that can be started, with how (see
    FileFacts). `unreadable`: files that could not be read; `read`: number of new or changed files read."""

    facts: dict[str, FileFacts] = {}
    lines: dict[str, int] = {}
    imports: dict[str, dict[str, int]] = {}
    styles: tuple[Style, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[str, ...] = ()
    read: int = 0
