"""The parts of an analysis: from the files of a project and what they show, to what it is."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.base.regular_files import read_beneath
from localllm.core.project.commands import Signing
from localllm.core.project.facts import (
    FilesAnalysis,
    FolderFacts,
    LanguageShare,
    PassedOver,
    ProjectAnalysis,
    Reason,
)
from localllm.core.project.languages import BESIDE_CODE
from localllm.core.project.tree import Tree, folders_of, manifests_at
from localllm.syntax.manifests.dependencies import dependencies, main_dependencies
from localllm.syntax.manifests.frameworks import languages_of, of_dependencies, of_imports
from localllm.syntax.manifests.signs import LARGEST_MANIFEST, is_broken, tame
from localllm.text.cleaning import shorten
from localllm.text.decoding import NotTextError, decode

_MOST_LANGUAGES, _LEAST_SHARE = 6, 0.02
_MOST_PACKAGES = 40
_MOST_DEPENDENCIES, _MOST_ENTRY_POINTS = 40, 12
_MOST_WORKFLOWS = 10
_SMALL = 10  # files; in a larger project one that imports something says little
_START_OF_FILE = 4_000
_LONGEST_ABOUT = 100
_DOCSTRING = re.compile(
    r"\A(?:#[^\n]*\n|\s){0,99}[rRuU]?(\"\"\"|''')(?P<said>[\s\S]{0,2000}?)(?:\1|\n[ \t]*\n[ \t]*\w|\Z)"
)
_HEADING = re.compile(r"^#[ \t]+(?P<said>[^\n]+)", re.MULTILINE)


class Manifests(msgspec.Struct):
    """The manifests that were read, by path, and those that could not be, or do not
    hold what their names say."""

    texts: dict[str, str] = {}
    unusable: list[str] = []
    broken: list[str] = []


def put_together(root: Path, tree: Tree, files: FilesAnalysis) -> ProjectAnalysis:
    """The analysis of the project at `root`. Raises OSError where it cannot be opened."""
    root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        packages = dict(list(tree.packages.items())[:_MOST_PACKAGES])
        manifests = _read_manifests(root_fd, tree, packages)
        workflows = _read_workflows(root_fd, tree)
        folders = [_with_about(root_fd, tree, folder) for folder in folders_of(tree)]
    finally:
        os.close(root_fd)
    languages = _languages(tree, files)
    signs = Signing(tree, files, manifests.texts, tuple(share.name for share in languages))
    found = signs.packages(packages)
    own = {path: text for path, text in manifests.texts.items() if "/" not in path}
    return ProjectAnalysis(
        languages=languages,
        frameworks=_frameworks(manifests.texts, files),
        commands=signs.commands(found, workflows),
        entry_points=signs.entry_points()[:_MOST_ENTRY_POINTS],
        dependencies=(_dependencies(own) or _dependencies(manifests.texts))[:_MOST_DEPENDENCIES],
        manifests=tuple(name for name in own if name != "conftest.py"),
        folders=tuple(folders),
        packages=found,
        styles=files.styles,
        files=len(tree.files),
        passed_over=tuple(_passed_over(tree, files, manifests)),
    )


# --- reading


def _read_manifests(root_fd: int, tree: Tree, packages: Iterable[str]) -> Manifests:
    found = Manifests({}, [], [])
    for folder in ("", *(f"{path}/" for path in packages)):
        for name in manifests_at(tree, folder):
            if (text := _text_of(root_fd, folder + name)) is None:
                found.unusable.append(folder + name)
                continue
            text = tame(name, text)
            if is_broken(name, text):
                found.broken.append(folder + name)
            found.texts[folder + name] = text
    return found


def _read_workflows(root_fd: int, tree: Tree) -> dict[str, str]:
    paths = (path for path in tree.files if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path))
    texts = ((path, _text_of(root_fd, path)) for path, _ in zip(paths, range(_MOST_WORKFLOWS), strict=False))
    return {path: tame("workflow", text) for path, text in texts if text}


def _text_of(root_fd: int, path: str, limit: int = LARGEST_MANIFEST) -> str | None:
    """None where it is too large, cannot be read, or is no text."""
    try:
        return decode(read_beneath(root_fd, path, limit)).text
    except (OSError, NotTextError):
        return None


def _with_about(root_fd: int, tree: Tree, folder: FolderFacts) -> FolderFacts:
    """The folder with what it says of itself: its package's docstring, or its README's title."""
    names = tree.names.get(folder.path + "/", set())
    for name, pattern in (("__init__.py", _DOCSTRING), ("README.md", _HEADING)):
        text = _text_of(root_fd, f"{folder.path}/{name}") if name in names else ""
        if text and (found := pattern.search(text[:_START_OF_FILE])):
            said = _first_sentence(found["said"])
            return folder if _is_name(said, folder.path) else msgspec.structs.replace(folder, about=said)
    return folder


def _is_name(said: str, path: str) -> bool:
    """Whether a folder says no more of itself than what it is called."""
    words, name = (re.sub(r"[\W_]", "", text).lower() for text in (said, path.rsplit("/", 1)[-1]))
    return words.removesuffix("s") == name.removesuffix("s")


def _first_sentence(said: str) -> str:
    """Of what a folder says of itself, without rules of `===`."""
    lines = (line.strip() for line in said.split("\n"))
    text = " ".join(line for line in lines if re.search(r"\w", line)).replace("``", "`")
    return shorten(re.split(r"(?<=[.!?])\s|。", text, maxsplit=1)[0], _LONGEST_ABOUT)


# --- what it is


def _languages(tree: Tree, files: FilesAnalysis) -> tuple[LanguageShare, ...]:
    """By lines; those of files that were not read are estimated by their bytes."""
    counts, sizes, seen = Counter[str](), Counter[str](), Counter[str]()
    lines, read = Counter[str](), Counter[str]()
    for path, language in tree.sources.items():
        counts[language] += 1
        sizes[language] += tree.files[path]
        if facts := files.facts.get(path):
            lines[language] += facts.lines
            seen[language] += tree.files[path]
            read[language] += 1
    shares = [
        LanguageShare(
            name,
            count,
            round(lines[name] * sizes[name] / seen[name]) if seen[name] else sizes[name] // 35,
            exact=read[name] == count,
        )
        for name, count in counts.items()
    ]
    shares.sort(key=lambda share: (share.name in BESIDE_CODE, -share.lines, share.name))
    least = _LEAST_SHARE * sum(share.lines for share in shares)
    return tuple(share for place, share in enumerate(shares) if not place or share.lines >= least)[:_MOST_LANGUAGES]


def _dependencies(manifests: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for path, text in manifests.items() for name in dependencies(path, text)))


def _frameworks(manifests: Mapping[str, str], files: FilesAnalysis) -> tuple[str, ...]:
    """Those that the project needs, and of those it may need the ones it imports. Where no manifest names anything for
    a language, all that are imported."""
    found: list[str] = []
    optional: set[str] = set()
    told: set[str] = set()
    for path, text in manifests.items():
        if names := dependencies(path, text):
            found += of_dependencies(path, main_dependencies(path, text))
            optional.update(of_dependencies(path, names))
            told |= languages_of(path)
    for language, imports in files.imports.items():
        least = 1 if len(files.facts) < _SMALL else 2
        imported = of_imports(language, (_root_of(name) for name, count in imports.items() if count >= least))
        found += [name for name in imported if language not in told or name in optional]
    return tuple(dict.fromkeys(found))


def _root_of(module: str) -> str:
    return module if "/" in module else module.partition(".")[0]


def _passed_over(tree: Tree, files: FilesAnalysis, manifests: Manifests) -> Iterator[PassedOver]:
    if tree.cut:
        yield PassedOver(tree.cut, len(tree.files))
    if unread := set(tree.sources) - {*files.facts, *files.unreadable}:
        yield PassedOver("unread", len(unread))
    packages = list(tree.packages)[_MOST_PACKAGES:]
    lists: tuple[tuple[Reason, Sequence[str]], ...] = (
        ("unreadable", [path for path in files.unreadable if path in tree.sources]),
        ("unused", manifests.unusable),
        ("broken", manifests.broken),
        ("packages", packages),
    )
    for reason, paths in lists:
        if paths:
            yield PassedOver(reason, len(paths), paths[0])
