"""What the files of a project show of its commands, packages and programs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from localllm.core.project.facts import FilesAnalysis, Package
from localllm.core.project.tree import Tree
from localllm.syntax.manifests import commands as rules
from localllm.syntax.manifests.recipes import in_workflow
from localllm.syntax.manifests.signs import Command, Signs, at, quoted

_TEST_OF_PYTHON = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$")
_NO_TEST = re.compile(r"(?:^|/)(?:examples|docs?|samples|demos|templates?)/|^(?:example|demo|sample)/")
_NO_PROGRAM = re.compile(
    r"(?:^|/)(?:tests?|__tests__|examples|docs?|scripts?|tools?|benchmarks?|samples|demos|\.[^/]*)/|^(?:example|demo|sample)/|(?:^|/)(?:test_|conftest)"
)
_IN_BRACKETS = re.compile(r"(?<=\()[^()\s]+(?=\)$)")


class Signing:
    """The signs of a project and of the packages in it, and what follows from them."""

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
        """What a folder ("" or with `/` at its end) shows."""
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
        """The packages with the commands that test them in their own folders."""
        return tuple(self._package(folder, manifest) for folder, manifest in listed.items())

    def commands(self, packages: Iterable[Package], workflows: Mapping[str, str]) -> tuple[Command, ...]:
        """The project's commands; where it shows none for tests, that of the package with most code, and then what its
        workflows run."""
        found = rules.commands(self.signs())
        if rules.best(found, "test"):
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
        """The programs, those that manifests name first, then the files that can be started."""
        folders = sorted(self._texts, key=len)
        named = [(folder, point) for folder in folders for point in rules.entry_points(self.signs(folder))]
        told = {folder + found[0] for folder, point in named if (found := _IN_BRACKETS.search(point))}
        listed = [f"{point} — {folder}" if folder else point for folder, point in named]
        return tuple(dict.fromkeys([*listed, *(path for path in self._started() if path not in told)]))

    def _started(self) -> Iterator[str]:
        """Files that start something, those nearest the top first."""
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
        test = rules.best(rules.commands(msgspec.structs.replace(signs, languages=())), "test")
        return Package(folder, _name_in(signs) or folder.rsplit("/", 1)[-1], manifest, test.line if test else "")

    def _python_packages(self, folder: str) -> Iterator[str]:
        """The folders of tests, and those above them, that are packages."""
        for path in self._tests[folder]:
            inside = path[len(folder) :].rpartition("/")[0]
            if "__init__.py" in self._tree.names.get(f"{folder}{inside}/" if inside else folder, ()):
                yield inside


def _imports_unittest(imports: Iterable[str]) -> bool:
    return any(name.split(".")[0] == "unittest" or name.startswith("django.test") for name in imports)


def _name_in(signs: Signs) -> str:
    """The name a manifest gives its package."""
    for name in (
        at(signs.json("package.json"), "name"),
        at(signs.toml("pyproject.toml"), "project", "name"),
        at(signs.toml("Cargo.toml"), "package", "name"),
        at(signs.json("composer.json"), "name"),
    ):
        if isinstance(name, str) and name:
            return name
    return ""
