"""Build the parts of an analysis from a project's files: kinds, commands, packages, entry points."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from localllm.base.regular_files import read_beneath
from localllm.project.facts import (
    FilesAnalysis,
    FolderFacts,
    LanguageShare,
    Package,
    PassedOver,
    ProjectAnalysis,
    Reason,
)
from localllm.project.file_tree import Tree, folders_of, manifests_at
from localllm.project.languages import BESIDE_CODE
from localllm.project.manifests import commands
from localllm.project.manifests.dependencies import (
    dependencies,
    languages_of,
    main_dependencies,
    of_dependencies,
    of_imports,
)
from localllm.project.manifests.recipes import in_workflow
from localllm.project.manifests.signs import LARGEST_MANIFEST, Command, Signs, at, is_broken, quoted, tame
from localllm.text.decoding import NotTextError, decode
from localllm.text.sanitising import shorten

_TEST_OF_PYTHON = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$")
_NO_TEST = re.compile(r"(?:^|/)(?:examples|docs?|samples|demos|templates?)/|^(?:example|demo|sample)/")
_NO_PROGRAM = re.compile(
    r"(?:^|/)(?:tests?|__tests__|examples|docs?|scripts?|tools?|benchmarks?|samples|demos|\.[^/]*)/|^(?:example|demo|sample)/|(?:^|/)(?:test_|conftest)"
)
_IN_BRACKETS = re.compile(r"(?<=\()[^()\s]+(?=\)$)")


class Signing:
    """The signs of a project and its packages, and what is derived from them."""

    def __init__(
        self, tree: Tree, files: FilesAnalysis, manifests: Mapping[str, str], languages: tuple[str, ...]
    ) -> None:
        self._tree, self._files, self._languages = tree, files, languages
        self._texts: dict[str, dict[str, str]] = defaultdict(dict)
        for path, text in manifests.items():
            folder, slash, name = path.rpartition("/")
            self._texts[folder + slash][name] = text
        self._tests: dict[str, list[str]] = defaultdict(list)
        for path in files.facts:
            if _TEST_OF_PYTHON.search(path) and not _NO_TEST.search(path):
                self._tests[tree.owner(path)].append(path)

    def signs(self, folder: str = "") -> Signs:
        """Return the signs of a folder ("" or ending with `/`)."""
        names = self._tree.names
        inner = {f"{part}{name}" for part in ("bin/", "src/") for name in names.get(folder + part, ())}
        programs = [f"cmd/{name}" for name in names.get(folder + "cmd/", ()) if name.endswith("/")]
        imports = {path[len(folder) :]: self._files.facts[path].imports for path in self._tests[folder]}
        return Signs(
            names=frozenset(names.get(folder, set()) | inner),
            texts=self._texts[folder],
            pytest=any("pytest" in found for found in imports.values()),
            unittests=tuple(sorted(path for path, found in imports.items() if _imports_unittest(found))),
            packages=frozenset(self._python_packages(folder)),
            above=frozenset(names.get("", ())) if folder else frozenset(),
            languages=self._languages,
            programs=tuple(sorted(p.rstrip("/") for p in programs if "main.go" in names.get(folder + p, ()))),
        )

    def packages(self, listed: Mapping[str, str]) -> tuple[Package, ...]:
        """Return the packages with their test commands."""
        return tuple(self._package(folder, manifest) for folder, manifest in listed.items())

    def commands(self, packages: Iterable[Package], workflows: Mapping[str, str]) -> tuple[Command, ...]:
        """Return the project's commands; without one for tests, that of the largest package, then those of its
        workflows."""
        found = commands.commands(self.signs())
        if commands.best(found, "test"):
            return found
        code = Counter(self._tree.owner(path).rstrip("/") for path in self._tree.sources)
        tested = [package for package in packages if package.test]
        largest = sorted(tested, key=lambda package: -code[package.path])
        of_packages = [
            Command("test", f"cd {quoted(one.path)} && {one.test}", f"{one.path}/{one.manifest}", "package")
            for one in largest
        ]
        hints = [command for path, text in workflows.items() for command in in_workflow(path, text)]
        return (*found, *of_packages, *dict.fromkeys(hints))

    def entry_points(self) -> tuple[str, ...]:
        """Return the programs: those in manifests first, then files that can be started."""
        folders = sorted(self._texts, key=len)
        named = [(folder, point) for folder in folders for point in commands.entry_points(self.signs(folder))]
        told = {folder + found[0] for folder, point in named if (found := _IN_BRACKETS.search(point))}
        listed = [f"{point} — {folder}" if folder else point for folder, point in named]
        return tuple(dict.fromkeys([*listed, *(path for path in self._started() if path not in told)]))

    def _started(self) -> Iterator[str]:
        """Yield files that start something, nearest the top first."""
        names = self._tree.names
        for path in ("manage.py", "artisan", "config.ru"):
            if path in names.get("", ()):
                yield path
        yield from (
            path for path in self._tree.sources if path.endswith("/__main__.py") and not _NO_PROGRAM.search(path)
        )
        programs = [found for found in self._files.programs if not _NO_PROGRAM.search(found[0])]
        for path, program in sorted(programs, key=lambda found: (found[1] == "main", found[0].count("/"), found[0])):
            yield path if program == "main" else f"{path} ({program.partition(':')[0]} = {program.partition(':')[2]})"

    def _package(self, folder: str, manifest: str) -> Package:
        signs = self.signs(folder + "/")
        test = commands.best(commands.commands(msgspec.structs.replace(signs, languages=())), "test")
        return Package(folder, _name_in(signs) or folder.rsplit("/", 1)[-1], manifest, test.line if test else "")

    def _python_packages(self, folder: str) -> Iterator[str]:
        """Yield test folders, and those above them, that are packages."""
        for path in self._tests[folder]:
            inside = path[len(folder) :].rpartition("/")[0]
            if "__init__.py" in self._tree.names.get(f"{folder}{inside}/" if inside else folder, ()):
                yield inside


def _imports_unittest(imports: Iterable[str]) -> bool:
    return any(name.split(".")[0] == "unittest" or name.startswith("django.test") for name in imports)


def _name_in(signs: Signs) -> str:
    """Return the package name in a manifest."""
    for name in (
        at(signs.json("package.json"), "name"),
        at(signs.toml("pyproject.toml"), "project", "name"),
        at(signs.toml("Cargo.toml"), "package", "name"),
        at(signs.json("composer.json"), "name"),
    ):
        if isinstance(name, str) and name:
            return name
    return ""


_MOST_LANGUAGES, _LEAST_SHARE = 6, 0.02
_MOST_PACKAGES = 40
_MOST_DEPENDENCIES, _MOST_ENTRY_POINTS = 40, 12
_MOST_WORKFLOWS = 10
_SMALL = 10  # files; in a larger project a single import is insignificant
_START_OF_FILE = 4_000
_LONGEST_ABOUT = 100
_DOCSTRING = re.compile(
    r"\A(?:#[^\n]*\n|\s){0,99}[rRuU]?(\"\"\"|''')(?P<said>[\s\S]{0,2000}?)(?:\1|\n[ \t]*\n[ \t]*\w|\Z)"
)
_HEADING = re.compile(r"^#[ \t]+(?P<said>[^\n]+)", re.MULTILINE)


class Manifests(msgspec.Struct):
    """The manifests by path, and those that could not be read or parsed."""

    texts: dict[str, str] = {}
    unusable: list[str] = []
    broken: list[str] = []


def put_together(root: Path, tree: Tree, files: FilesAnalysis) -> ProjectAnalysis:
    """Assemble the analysis of the project at `root`. Raises OSError if it cannot be opened."""
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
    """Read a text; None if it is too large, unreadable, or binary."""
    try:
        return decode(read_beneath(root_fd, path, limit)).text
    except (OSError, NotTextError):
        return None


def _with_about(root_fd: int, tree: Tree, folder: FolderFacts) -> FolderFacts:
    """Return the folder with its description: its package's docstring, or its README's title."""
    names = tree.names.get(folder.path + "/", set())
    for name, pattern in (("__init__.py", _DOCSTRING), ("README.md", _HEADING)):
        text = _text_of(root_fd, f"{folder.path}/{name}") if name in names else ""
        if text and (found := pattern.search(text[:_START_OF_FILE])):
            said = _first_sentence(found["said"])
            return folder if _is_name(said, folder.path) else msgspec.structs.replace(folder, about=said)
    return folder


def _is_name(said: str, path: str) -> bool:
    """Whether a description merely repeats the folder's name."""
    words, name = (re.sub(r"[\W_]", "", text).lower() for text in (said, path.rsplit("/", 1)[-1]))
    return words.removesuffix("s") == name.removesuffix("s")


def _first_sentence(said: str) -> str:
    """Return the first sentence of a description, without `===` rules."""
    lines = (line.strip() for line in said.split("\n"))
    text = " ".join(line for line in lines if re.search(r"\w", line)).replace("``", "`")
    return shorten(re.split(r"(?<=[.!?])\s|。", text, maxsplit=1)[0], _LONGEST_ABOUT)


# --- what it is


def _languages(tree: Tree, files: FilesAnalysis) -> tuple[LanguageShare, ...]:
    """Return the languages by lines; unread files are estimated from bytes."""
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
    """Return the required frameworks, and of the optional ones those imported. If no manifest lists dependencies of a
    language, all imported ones."""
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
