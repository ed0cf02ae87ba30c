"""Format an analysis as the lines of LOCALLLM.md."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from localllm.memory.document_texts import Language, in_language
from localllm.memory.section_kinds import SectionKind
from localllm.project.facts import FolderFacts, LanguageShare, PassedOver, ProjectAnalysis, Style
from localllm.project.file_facts import LENGTHS, Habits
from localllm.project.languages import BESIDE_CODE
from localllm.project.manifests.signs import Command, CommandKind
from localllm.text.sanitising import clean

_MOST_NAMES, _MOST_PACKAGES, _MOST_STYLES, _MOST_CHECKS = 12, 12, 3, 3
_CLEAR, _ALL = 0.75, 0.97
"""Shares from which on a habit is stated, and from which on without exceptions."""
_BEYOND = 0.005  # share of the lines that may be longer than the limit
_FEW, _FEW_LINES = 5, 30  # fewer samples are inconclusive
_LEAST_DOCUMENTED = 0.05
_ITEM = re.compile(r"(?P<indent> *)- (?:(?P<label>.+?)(?:: | - ))?(?P<text>.+)")
"""A line of a section: its label and text."""


def to_sections(analysis: ProjectAnalysis, language: Language) -> dict[SectionKind, tuple[str, ...]]:
    """Return the lines, without newlines, of a memory file's initial sections. An empty one has a comment on what
    belongs there."""
    writer = _Writer(language)
    sections: dict[SectionKind, tuple[str, ...]] = {
        "dna": tuple(writer.dna(analysis)),
        "folders": tuple(writer.folders(analysis.folders)),
        "style": tuple(writer.styles(analysis)),
    }
    return sections


class Rows(NamedTuple):
    """An analysis in rows of two columns, without Markdown."""

    project: tuple[tuple[str, str], ...]
    folders: tuple[tuple[str, str], ...]
    style: tuple[tuple[str, str], ...]


def as_rows(analysis: ProjectAnalysis, language: Language) -> Rows:
    """Return the content of `to_sections` for a screen, without parts left for the user to write."""
    return Rows(*(tuple(_rows(lines)) for lines in to_sections(analysis, language).values()))


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if "<!--" not in line and (found := _ITEM.fullmatch(line)):
            yield found["indent"] + (found["label"] or ""), found["text"].replace("`", "")


def passed_over(notes: Iterable[PassedOver], language: Language) -> tuple[str, ...]:
    """Return sentences on what was skipped."""
    writer = _Writer(language)
    return tuple(writer.say(f"over.{note.reason}", count=note.count, name=writer.plain(note.name)) for note in notes)


class _Writer:
    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._comma = "、" if language == "ja" else ", "

    def say(self, key: str, **parameters: object) -> str:
        return in_language(f"analysis.{key}", self._language, **parameters)

    def plain(self, text: str) -> str:
        """Escape a project's text for Markdown on one line, within a comment or outside."""
        one_line = clean(text, keep_newlines=False).replace("`", "'")
        return re.sub(r"<(?=[!/A-Za-z])|-->", "", one_line)

    def dna(self, analysis: ProjectAnalysis) -> Iterator[str]:
        yield self.say("hint")
        if analysis.languages:
            yield self.say("languages", languages=self._comma.join(map(self._share, analysis.languages)))
        if analysis.frameworks:
            yield self._named("frameworks", analysis.frameworks)
        yield self.say("architecture_hint")
        if libraries := _without(analysis.dependencies, analysis.frameworks):
            yield self._named("libraries", libraries)
        if analysis.manifests:
            yield self._named("manifests", analysis.manifests)
        yield from self._commands(analysis.commands)
        if analysis.entry_points:
            yield self._named("entry_points", analysis.entry_points[:6])
        yield from self._packages(analysis)

    def _share(self, share: LanguageShare) -> str:
        lines = f"{share.lines:,}"
        if not share.exact:
            lines = self.say("about_lines", count=lines)
        return self.say("language", name=share.name, files=f"{share.files:,}", lines=lines)

    def _named(self, key: str, names: Sequence[str]) -> str:
        listed = self._comma.join(map(self.plain, names[:_MOST_NAMES]))
        if more := len(names) - _MOST_NAMES:
            listed = self.say("and_more", names=listed, count=more) if more > 0 else listed
        return self.say(key, names=listed)

    def _commands(self, commands: Sequence[Command]) -> Iterator[str]:
        """Yield the best command of each kind; several checks."""
        kinds: tuple[CommandKind, ...] = ("test", "build", "run", "lint")
        for kind in kinds:
            found = [command for command in commands if command.kind == kind]
            shown = [self._command(command) for command in found[: _MOST_CHECKS if kind == "lint" else 1]]
            if shown:
                yield self.say(kind, command=self._comma.join(shown))

    def _command(self, command: Command) -> str:
        return self.say("command", command=self.plain(command.line), source=self.plain(command.source))

    def _packages(self, analysis: ProjectAnalysis) -> Iterator[str]:
        for package in analysis.packages[:_MOST_PACKAGES]:
            key = "package_tested" if package.test else "package"
            path, name = self.plain(package.path), self.plain(package.name)
            yield self.say(key, path=path, name=name, command=self.plain(package.test))
        if (more := len(analysis.packages) - _MOST_PACKAGES) > 0:
            yield self.say("more_packages", count=more)

    # --- folders

    def folders(self, folders: Sequence[FolderFacts]) -> Iterator[str]:
        for folder in folders:
            indent = "  " * folder.path.count("/")
            yield indent + self.say("folder", path=self.plain(folder.path), what=self._what(folder))
        if not folders:
            yield self.say("folders_hint")

    def _what(self, folder: FolderFacts) -> str:
        said = self.plain(folder.about).rstrip(".。")
        parts = [said or (self.say(f"role.{folder.role}") if folder.role else ""), folder.language]
        return self._comma.join([*filter(None, parts), self.say("folder_files", count=f"{folder.files:,}")])

    # --- style

    def styles(self, analysis: ProjectAnalysis) -> Iterator[str]:
        shown = {share.name for share in analysis.languages if share.name not in BESIDE_CODE}
        for style in [style for style in analysis.styles if style.language in shown][:_MOST_STYLES]:
            if habits := list(self._habits(style)):
                yield self.say("style", language=style.language, habits=self._comma.join(habits))
        yield self.say("style_hint")

    def _habits(self, style: Style) -> Iterator[str]:
        habits = style.habits
        if indent := _clear(habits.indents):
            yield self.say("indent_tabs") if indent == "tab" else self.say("indent_spaces", count=indent)
        if quotes := _clear({"single": habits.single, "double": habits.double}, _FEW):
            yield self.say(f"quotes_{quotes}")
        if ends := _clear({"semicolons": habits.semicolons, "no_semicolons": habits.bare_ends * 2}, _FEW):
            yield self.say(ends)
        if length := _length(habits):
            yield self.say("lengths", count=length)
        if form := _clear(habits.names, _FEW):
            yield self.say("names", form=form)
        if style.language == "Python" and habits.functions >= _FEW:
            yield self._hints(habits)
        yield from self._docs(style)

    def _hints(self, habits: Habits) -> str:
        share = habits.hinted / habits.functions
        if share >= _ALL or not habits.hinted:
            return self.say("hints_all" if habits.hinted else "hints_none")
        return self.say("hints_share", share=round(100 * share))

    def _docs(self, style: Style) -> Iterator[str]:
        habits = style.habits
        if habits.docs.get("jsdoc", 0) >= _FEW:
            yield self.say("jsdoc")
        if style.language != "Python" or habits.functions < _FEW:
            return
        share = sum(habits.docs.values()) / habits.functions
        if share < _LEAST_DOCUMENTED:
            yield self.say("docs_none")
            return
        forms = {form: count for form, count in habits.docs.items() if form != "plain"}
        common = max(forms, key=lambda form: forms[form], default="plain")
        form = common if forms and forms[common] >= habits.docs.get("plain", 0) / 5 else "plain"
        yield self.say("docs_share", share=round(100 * share), form=self.say(f"docs.{form}"))


def _clear(counts: Mapping[str, int], least: int = 1) -> str:
    """Return the dominant value; "" if there is none, or fewer than `least` were counted."""
    total = sum(counts.values())
    common = max(counts, key=lambda key: counts[key], default="")
    return common if common and counts[common] >= max(least, _CLEAR * total) else ""


def _length(habits: Habits) -> int:
    """Return the usual line length limit that nearly all lines keep; 0 for none."""
    total = sum(habits.lengths.values())
    beyond = total
    for limit in LENGTHS[:-1]:
        beyond -= habits.lengths.get(limit, 0)
        if total >= _FEW_LINES and beyond <= _BEYOND * total:
            return limit
    return 0


def _without(names: Sequence[str], frameworks: Sequence[str]) -> tuple[str, ...]:
    """Return the libraries that are not listed as frameworks already."""
    known = {_bare(name) for name in frameworks}
    return tuple(name for name in names if not {_bare(name), _bare(name.rpartition("/")[2])} & known)


def _bare(name: str) -> str:
    """Normalise the spelling of a name: `Next.js` and `next`."""
    return re.sub(r"[\W_]|\.?js$", "", name.lower())
