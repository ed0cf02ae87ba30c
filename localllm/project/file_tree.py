"""List the files of a project, and classify its folders."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from localllm.base.directory_walk import Entry, walk
from localllm.project.facts import FolderFacts, Role
from localllm.project.languages import NEVER_PART, is_foreign, language_named, may_be_script
from localllm.project.manifests.signs import is_manifest

_ROLES: tuple[tuple[Role, str], ...] = (
    ("tests", r"tests?|specs?|__tests__|t|testing|e2e|integration[_-]tests?"),
    ("docs", r"docs?|documentation|man|manual|wiki"),
    ("benchmarks", r"bench(?:es|marks?)?|perf"),
    ("examples", r"examples?|samples?|demos?|tutorials?|notebooks?"),
    ("migrations", r"migrations?|alembic"),
    ("ci", r"\.github|\.gitlab|\.circleci|\.ci|ci"),
    ("scripts", r"scripts?|tools?|bin|hack|dev|util(?:s|ities)?"),
    ("static", r"static|assets|public|images|img|media|css|styles|fonts|resources"),
    ("locales", r"locales?|i18n|l10n|translations|po"),
    ("config", r"config|conf|configs|settings|etc"),
    ("data", r"data|datasets?|fixtures|testdata"),
    ("deploy", r"deploy(?:ment)?|docker|k8s|kubernetes|helm|charts?|terraform|infra(?:structure)?|ansible"),
    ("packages", r"packages|apps|crates|modules|libs|services|projects|workspaces"),
    ("types", r"types|typings|@types|include|headers"),
    ("foreign", r"vendor|third[_-]party|3rdparty|external|extern|node_modules|Pods|dist|deps"),
    ("source", r"src|lib|source|sources|app|cmd|internal|pkg|core"),
)
_ROLES_INSIDE = ("tests", "docs", "migrations", "static", "locales", "foreign")
"""Roles that also apply to a folder in the code folder; `tools` there is part of the program."""
_MOST_FOLDERS, _MOST_INSIDE = 16, 16
_MAIN_SHARE = 0.4
_DEEPEST_PACKAGE = 4
_MOST_SCRIPTS, _LARGEST_SCRIPT = 1_000, 200_000
_NO_PACKAGE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|examples?|samples?|demos?|benchmarks?|fixtures|templates?|scripts?|tools?|hack|docs?|e2e|\.[^/]*)/"
)
_MAKES_PACKAGE = re.compile(
    r"package\.json|pyproject\.toml|setup\.py|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|composer\.json|mix\.exs"
    r"|pubspec\.yaml|Gemfile|Package\.swift|[\w.-]+\.(?:cs|fs|vb)proj|manage\.py|requirements\.txt|Pipfile"
)
_BESIDE_MANIFESTS = ("manage.py", "requirements.txt", "Pipfile")
"""Files that make a folder a package but are not named as its manifest if there are others."""


class Tree(msgspec.Struct, frozen=True):
    """`files`: path → bytes, in walk order, without links. `sources`: hand-written ones, path → language. `names`: the
    names in each folder ("" or ending with `/`), folders with `/`. `cut`: why the list is incomplete, "" if it is
    complete. `packages`: the separately built folders below the top, with their manifests, outer ones first. `scripts`:
    small files whose first line may identify a language."""

    files: dict[str, int]
    names: dict[str, set[str]]
    sources: dict[str, str]
    scripts: tuple[str, ...]
    packages: dict[str, str]
    cut: Literal["", "files", "seconds"] = ""

    def owner(self, path: str) -> str:
        """Return the folder of a file's package, ending with `/`; "" for the project itself."""
        folder = path.rpartition("/")[0]
        while folder and folder not in self.packages:
            folder = folder.rpartition("/")[0]
        return f"{folder}/" if folder else ""


def _packages(files: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        is_one = folder and path.count("/") <= _DEEPEST_PACKAGE and _MAKES_PACKAGE.fullmatch(name)
        is_better = folder not in found or found[folder] in _BESIDE_MANIFESTS
        if is_one and is_better and not _NO_PACKAGE.search(path) and not is_foreign(path):
            found[folder] = name
    return dict(sorted(found.items(), key=lambda item: (item[0].count("/"), item[0])))


def look(root: Path, *, exclude: Sequence[str], most: int, deadline: float) -> Tree:
    """Walk a project breadth-first, up to `most` files and until `deadline` (of time.monotonic); the top folder is
    always complete.

    Raises OSError if it cannot be opened.
    """
    files: dict[str, int] = {}
    names: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, str] = {}
    scripts: list[str] = []
    cut: Literal["", "files", "seconds"] = ""
    left_out = (*exclude, *NEVER_PART)
    top = list(walk(root, exclude=left_out, depth=1))  # always complete: it is most informative
    for entry in chain(top, walk(root, exclude=left_out)):
        folder, slash, name = entry.path.rpartition("/")
        names[folder + slash].add(f"{name}/" if entry.is_dir else name)
        if entry.is_dir or entry.is_link or entry.path in files:
            continue
        if folder and (len(files) >= most or time.monotonic() > deadline):
            cut = "files" if len(files) >= most else "seconds"
            break
        files[entry.path] = entry.size
        if (language := language_named(entry.path)) and not is_foreign(entry.path):
            sources[entry.path] = language
        elif len(scripts) < _MOST_SCRIPTS and _may_be_script(entry):
            scripts.append(entry.path)
    return Tree(files, dict(names), _with_headers(sources), tuple(scripts), _packages(files), cut)


def _may_be_script(entry: Entry) -> bool:
    return 0 < entry.size <= _LARGEST_SCRIPT and may_be_script(entry.path) and not is_foreign(entry.path)


def _with_headers(sources: dict[str, str]) -> dict[str, str]:
    """Assign headers to C++ if most of the other files are C++."""
    counts = Counter(language for path, language in sources.items() if not path.endswith(".h"))
    if counts["C++"] <= counts["C"]:
        return sources
    return {path: "C++" if path.endswith(".h") else language for path, language in sources.items()}


def manifests_at(tree: Tree, folder: str = "") -> list[str]:
    """Return the manifests in a folder."""
    return sorted(name for name in tree.names.get(folder, ()) if is_manifest(name) and folder + name in tree.files)


def role_of(path: str) -> Role:
    """Return the role of a folder by its name."""
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    found: list[Role] = [role for role, pattern in _ROLES if re.fullmatch(pattern, name)]
    return found[0] if found else ""


def folders_of(tree: Tree) -> list[FolderFacts]:
    """Return the folders at the top, and those in the one with most of the code. Hidden ones only if their role is
    known."""
    below: Counter[str] = Counter()
    code: Counter[str] = Counter()
    languages: dict[str, Counter[str]] = defaultdict(Counter)
    for path in tree.files:
        language = tree.sources.get(path)
        for folder in _upper_folders(path):
            below[folder] += 1
            if language:
                code[folder] += 1
                languages[folder][language] += 1
    shown: list[FolderFacts] = []
    for folder in _largest([name for name in below if "/" not in name], below, _MOST_FOLDERS):
        shown.append(_facts(folder, below, languages))
        is_main = code[folder] >= _MAIN_SHARE * len(tree.sources) and role_of(folder) in ("", "source", "packages")
        if is_main and code[folder]:
            inside = [name for name in below if name.startswith(folder + "/")]
            shown += [_facts(name, below, languages) for name in _largest(inside, below, _MOST_INSIDE)]
    return shown


def _upper_folders(path: str) -> Iterable[str]:
    """Return the first and second level folders of a file."""
    parts = path.split("/", 2)
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _largest(names: list[str], below: Counter[str], most: int) -> list[str]:
    seen = [name for name in names if not name.rsplit("/", 1)[-1].startswith(".") or role_of(name) == "ci"]
    return sorted(sorted(seen, key=lambda name: -below[name])[:most])


def _facts(path: str, below: Counter[str], languages: dict[str, Counter[str]]) -> FolderFacts:
    common = languages[path].most_common(1)
    role = role_of(path)
    if "/" in path and role not in _ROLES_INSIDE:
        role = ""
    return FolderFacts(path, below[path], common[0][0] if common else "", role)
