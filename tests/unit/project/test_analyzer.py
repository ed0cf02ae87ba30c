"""What a project is: of many kinds of projects, of broken ones, and of those that are there already."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from localllm.base.cache import CacheManager
from localllm.project.analyzer import ProjectAnalyzer, analyze_project
from localllm.project.facts import ProjectAnalysis
from localllm.project.report import to_sections
from tests.support import project_trees as trees
from tests.support.project_trees import Tree, plant

pytestmark = pytest.mark.anyio

CASES: dict[str, tuple[Tree, str, list[str], list[str]]] = {
    "python": (trees.PYTHON_PACKAGE, "uv run pytest", ["Python"], ["Click"]),
    "django": (trees.DJANGO, "python manage.py test", ["Python"], ["Django", "Django REST framework"]),
    "fastapi": (trees.FASTAPI, "python -m pytest", ["Python"], ["FastAPI", "SQLAlchemy"]),
    "npm": (trees.NPM, "npm test", ["JavaScript"], ["Express"]),
    "next": (trees.NEXT, "pnpm test", ["TypeScript"], ["Next.js", "React", "Tailwind CSS"]),
    "rust": (trees.RUST, "cargo test", ["Rust"], ["Axum", "Tokio"]),
    "go": (trees.GO, "go test ./...", ["Go"], ["Gin"]),
    "spring": (trees.SPRING, "./gradlew test", ["Java"], ["Spring Boot", "JUnit"]),
    "maven": (trees.MAVEN, "mvn test", ["Java"], ["Hibernate"]),
    "rails": (trees.RAILS, "bin/rails test", ["Ruby"], ["Rails"]),
    "laravel": (trees.LARAVEL, "php artisan test", ["PHP"], ["Laravel"]),
    "phoenix": (trees.PHOENIX, "mix test", ["Elixir"], ["Phoenix", "Ecto"]),
    "cmake": (trees.CMAKE, "cmake -B build && cmake --build build && ctest --test-dir build", ["C"], ["Boost"]),
    "make": (trees.MAKE, "make test", ["C++"], []),
    "scripts": (trees.SCRIPTS, "", ["Python", "Shell"], []),
    "monorepo": (trees.MONOREPO, "yarn workspaces run test", ["TypeScript"], ["React", "NestJS", "Celery"]),
    "two parts": (trees.TWO_PARTS, "cd backend && python -m pytest", ["Python"], ["Flask", "Vue"]),
    "nothing": ({}, "", [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_many_kinds_of_projects(tmp_path: Path, name: str) -> None:
    tree, command, languages, frameworks = CASES[name]
    found = analyze_project(plant(tmp_path, tree))
    assert found.test_command == command
    assert [share.name for share in found.languages][: len(languages)] == languages
    assert sorted(found.frameworks) == sorted(frameworks)
    assert found.passed_over == ()


def test_this_project() -> None:
    found = analyze_project(Path(__file__).parents[3])
    assert found.test_command == "python -m pytest"
    assert found.languages[0].name == "Python"
    assert {command.line for command in found.commands} >= {"ruff check", "pyright", "python -m build", "localllm"}
    assert "localllm (localllm.cli:main)" in found.entry_points
    assert {folder.path: folder.role for folder in found.folders}["tests"] == "tests"


def commands(found: ProjectAnalysis, kind: str) -> list[str]:
    return [command.line for command in found.commands if command.kind == kind]


def test_commands_with_where_they_were_found(tmp_path: Path) -> None:
    found = analyze_project(plant(tmp_path, trees.PYTHON_PACKAGE))
    assert [(one.kind, one.line, one.source) for one in found.commands] == [
        ("test", "uv run pytest", "pyproject.toml"),
        ("build", "uv build", "pyproject.toml"),
        ("run", "uv run apples", "pyproject.toml"),
        ("lint", "ruff check", "pyproject.toml"),
        ("lint", "mypy .", "pyproject.toml"),
    ]
    assert found.dependencies == ("click", "rich", "pytest", "ruff")


def test_programs(tmp_path: Path) -> None:
    for number, (tree, points) in enumerate(
        [
            (trees.NPM, ("apple (bin/apple.js)", "lib/index.js")),
            (trees.RUST, ("apples (src/main.rs)",)),
            (trees.GO, ("cmd/apples/main.go",)),
            (trees.FASTAPI, ("app/main.py (app = FastAPI)",)),
            (trees.DJANGO, ("manage.py",)),
            (trees.SPRING, ("src/main/java/org/example/App.java",)),
        ]
    ):
        assert analyze_project(plant(tmp_path / str(number), tree)).entry_points == points
    assert commands(analyze_project(tmp_path / "2"), "run") == ["go run ./cmd/apples"]
    assert commands(analyze_project(tmp_path / "5"), "run") == ["./gradlew bootRun"]


def test_the_packages_of_a_project_of_several(tmp_path: Path) -> None:
    found = analyze_project(plant(tmp_path, trees.MONOREPO))
    assert [(one.path, one.name, one.test) for one in found.packages] == [
        ("packages/api", "@acme/api", ""),
        ("packages/web", "@acme/web", "yarn test"),
        ("services/worker", "worker", "python -m pytest"),
    ]


def test_a_backend_without_a_manifest_of_its_own_is_a_package(tmp_path: Path) -> None:
    found = analyze_project(
        plant(
            tmp_path,
            {
                f"{place}/{path}": text
                for place, tree in (("backend", trees.DJANGO), ("web", trees.NPM))
                for path, text in tree.items()
            },
        )
    )
    assert found.test_command == "cd backend && python manage.py test"
    assert [(one.path, one.test) for one in found.packages] == [
        ("backend", "python manage.py test"),
        ("web", "npm test"),
    ]


def test_a_package_is_called_by_its_manifest_and_not_by_what_lies_beside_it(tmp_path: Path) -> None:
    manifests = {"setup.py": "", "requirements.txt": "django\n", "manage.py": "import django\n"}
    for number, names in enumerate((("requirements.txt", "setup.py"), ("manage.py", "setup.py"), ("setup.py",))):
        plant(tmp_path / str(number), {f"api/{name}": manifests[name] for name in names} | {"api/a.py": "x = 1\n"})
        assert [one.manifest for one in analyze_project(tmp_path / str(number)).packages] == ["setup.py"]


def test_a_program_that_is_run_where_it_lies_is_not_built(tmp_path: Path) -> None:
    service = '[project]\nname = "service"\ndependencies = ["fastapi"]\n'
    for number, (more, built) in enumerate(
        (
            ("", []),
            ('[build-system]\nrequires = ["x"]\n', ["uv build"]),
            ('[project.scripts]\na = "b:c"\n', ["uv build"]),
        )
    ):
        tree = {"pyproject.toml": service + more, "uv.lock": "", "service.py": "x = 1\n"}
        assert commands(analyze_project(plant(tmp_path / str(number), tree)), "build") == built


def test_what_git_ignores_and_what_was_copied_does_not_count(tmp_path: Path) -> None:
    plant(
        tmp_path, {"a.go": "package a\n", "build/b.rb": "1\n" * 99, "vendor/c.py": "1\n" * 99, ".gitignore": "build/\n"}
    )
    assert [(one.name, one.files, one.lines) for one in analyze_project(tmp_path).languages] == [("Go", 1, 1)]


def test_headers_belong_to_the_language_of_the_rest(tmp_path: Path) -> None:
    assert [one.name for one in analyze_project(plant(tmp_path, trees.CMAKE)).languages][:1] == ["C"]
    assert [one.files for one in analyze_project(plant(tmp_path / "x", trees.MAKE)).languages][:1] == [2]


def test_tests_that_only_the_workflow_tells_of(tmp_path: Path) -> None:
    steps = (
        "    steps:\n      - name: go\n        run: |\n          cd x\n          ./scripts/pytest -q\n"
        "      - run: echo ${{ a }} pytest\n"
    )
    plant(tmp_path, {".github/workflows/ci.yml": steps, "a.nim": "echo 1\n"})
    found = analyze_project(tmp_path)
    assert [(one.line, one.source) for one in found.commands] == [("./scripts/pytest -q", ".github/workflows/ci.yml")]


@pytest.mark.parametrize(
    ("script", "command"), [("vitest", "npm test"), ('echo "Error: no test specified"', ""), (None, "")]
)
def test_npm_without_tests(tmp_path: Path, script: str | None, command: str) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": script} if script else {}}))
    assert analyze_project(tmp_path).test_command == command


@pytest.mark.parametrize(("text", "command"), [("test: build\n", "make test"), ("tests := 1\n", ""), ("", "")])
def test_make_without_tests(tmp_path: Path, text: str, command: str) -> None:
    (tmp_path / "Makefile").write_text(text)
    assert analyze_project(tmp_path).test_command == command


HOSTILE = {
    "package.json": [
        "",
        "[]",
        "{",
        '{"scripts": []}',
        "\xff",
        "[" * 100_000,
        '{"scripts": {"test": 3}, "bin": [1], "workspaces": 7}',
    ],
    "pyproject.toml": [
        "[",
        "project = 3",
        "[project]\ndependencies = 7\nscripts = []",
        "a." * 100_000 + "b = 1",
        "\x00\xff",
    ],
    "Cargo.toml": ["workspace = 1\nbin = 3", "[[bin]]\n[package]\nname = 3"],
    "pom.xml": ["<dependency>" * 50_000, "<!--" * 50_000],
    "Makefile": ["a " * 100_000, " \n" * 100_000, "a" * 200_000],
    "go.mod": ["\n" * 200_000, "require (" * 30_000],
    "build.gradle": ["id '" * 50_000],
    "setup.py": ["install_requires=[" * 20_000],
    ".github/workflows/x.yml": ["      - run: |\n" + "          \n" * 20_000],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in HOSTILE.items() for text in texts])
def test_broken_and_hostile_manifests(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("latin-1"))
    (tmp_path / "a.py").write_text("x = 1\n")
    assert analyze_project(tmp_path).languages[0].name == "Python"


def test_broken_manifests_are_named(tmp_path: Path) -> None:
    plant(tmp_path, {"package.json": "{", "pyproject.toml": "[", "composer.json": "x" * 1_000_001})
    assert [(one.reason, one.count, one.name) for one in analyze_project(tmp_path).passed_over] == [
        ("unused", 1, "composer.json"),
        ("broken", 2, "package.json"),
    ]


def test_links_pipes_and_what_is_no_text(tmp_path: Path) -> None:
    project = plant(tmp_path / "project", {"a.py": "x = 1\n"})
    plant(tmp_path, {"secret/Makefile": "test:\n", "secret/b.py": "y = 1\n"})
    (project / "Makefile").symlink_to(tmp_path / "secret" / "Makefile")
    (project / "linked").symlink_to(tmp_path / "secret")
    os.mkfifo(project / "package.json")
    (project / "data.py").write_bytes(b"\x7fELF\0" + bytes(100))
    (project / "shift_jis.py").write_bytes("# 設定\nx = 1\n".encode("cp932"))
    (project / "huge.py").write_bytes(b"x = 1\n" * 400_000)
    os.close(os.open(bytes(project) + b"/\xff.py", os.O_CREAT))
    found = analyze_project(project)
    assert found.test_command == ""
    assert found.manifests == ()
    assert found.languages[0].files == 5
    assert [(one.reason, one.name) for one in found.passed_over] == [("unreadable", "huge.py")]


def test_more_files_than_are_looked_at(tmp_path: Path) -> None:
    plant(tmp_path, {f"part/{number}.py": "x = 1\n" for number in range(9)} | {"Makefile": "test:\n"})
    for most, cut in ((10, ()), (9, (("files", 9),))):
        found = asyncio.run(ProjectAnalyzer(tmp_path, most_files=most).analyze())
        assert found.files == most
        assert tuple((one.reason, one.count) for one in found.passed_over) == cut
        assert found.test_command == "make test"


def test_without_any_time_the_top_is_known(tmp_path: Path) -> None:
    plant(tmp_path, {"a/a.py": "x = 1\n", "b.py": "x = 1\n" * 35, "pyproject.toml": "[tool.pytest.ini_options]"})
    found = analyze_project(tmp_path, seconds=0)
    assert [one.reason for one in found.passed_over] == ["seconds", "unread"]
    assert found.test_command == "python -m pytest"
    assert [(one.name, one.lines, one.exact) for one in found.languages] == [("Python", 6, False)]


async def test_one_file(tmp_path: Path) -> None:
    analyzer = ProjectAnalyzer(plant(tmp_path, trees.FASTAPI))
    facts = await analyzer.analyze_file("app/main.py")
    assert (facts.lines, facts.imports, facts.programs) == (8, ("fastapi",), ("app:FastAPI",))
    with pytest.raises(FileNotFoundError):
        await analyzer.analyze_file("missing.py")


async def test_files_together(tmp_path: Path) -> None:
    analyzer = ProjectAnalyzer(plant(tmp_path, trees.DJANGO))
    found = await analyzer.parallel_file_analysis(["manage.py", "shop/settings.py", "missing.py"])
    assert (found.lines, found.unreadable, found.read) == ({"Python": 10}, ("missing.py",), 2)
    assert found.imports == {"Python": {"os": 1, "django.core.management": 1}}


INSTALLED = Path(pytest.__file__).parent.parent / "_pytest"
"""Real sources that were there before this run began."""


async def test_a_second_run_reads_nothing(tmp_path: Path) -> None:
    paths = [str(path.relative_to(INSTALLED)) for path in INSTALLED.rglob("*.py")]
    first = await ProjectAnalyzer(INSTALLED, tmp_path / "cache").parallel_file_analysis(paths)
    second = await ProjectAnalyzer(INSTALLED, tmp_path / "cache").parallel_file_analysis(paths)
    assert (first.read, second.read) == (len(paths), 0)
    assert (first.styles, first.lines, first.imports) == (second.styles, second.lines, second.imports)


async def test_only_what_has_changed_is_measured_again(tmp_path: Path) -> None:
    project, cache = plant(tmp_path / "p", {"a.py": "import os\n", "b.py": "import sys\n"}), tmp_path / "cache"
    await ProjectAnalyzer(project, cache).analyze()
    (project / "a.py").write_text("import re\n")
    (project / "b.py").unlink()
    files = await ProjectAnalyzer(project, cache).parallel_file_analysis(["a.py"])
    assert files.facts["a.py"].imports == ("re",)


async def test_a_name_that_is_not_utf_8_hinders_nothing(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    project, cache = plant(tmp_path / "p", {"a.py": "import os\n", name: "import sys\n"}), tmp_path / "cache"
    for _ in range(2):
        files = await ProjectAnalyzer(project, cache).parallel_file_analysis(["a.py", name])
        assert files.facts[name].imports == ("sys",)


async def test_a_cache_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    project = plant(tmp_path / "p", {"a.py": "import os\n"})
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "cache").symlink_to("mine")
    await ProjectAnalyzer(project, tmp_path / "cache").analyze()
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert not (tmp_path / "cache").is_symlink()
    (tmp_path / "folder").symlink_to("p")
    await ProjectAnalyzer(project, tmp_path / "folder" / "cache").analyze()
    assert not (project / "cache").exists()


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x92\x01\x80", b"[]"])
async def test_a_broken_cache_is_no_hindrance(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "cache").write_bytes(junk)
    project = plant(tmp_path / "p", trees.GO)
    assert (await ProjectAnalyzer(project, tmp_path / "cache").analyze()).test_command == "go test ./..."


async def test_an_analysis_is_kept_while_nothing_changes(tmp_path: Path) -> None:
    caches = CacheManager()
    analyzer = ProjectAnalyzer(INSTALLED, caches=caches)
    assert await analyzer.analyze() is await analyzer.analyze()
    fresh = ProjectAnalyzer(plant(tmp_path, trees.GO), caches=caches)
    assert (await fresh.analyze()).test_command == "go test ./..."
    (tmp_path / "go.mod").rename(tmp_path / "go.mad")
    assert (await fresh.analyze()).test_command == ""


async def test_files_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    project, cache = plant(tmp_path / "p", {"a.py": "import os\n", "b.py": "import sys\n"}), tmp_path / "cache"
    await ProjectAnalyzer(project, cache).analyze()
    assert b"b.py" in cache.read_bytes()
    (project / "b.py").unlink()
    await ProjectAnalyzer(project, cache).analyze()
    assert b"b.py" not in cache.read_bytes()


async def test_an_installed_package() -> None:
    found = await ProjectAnalyzer(INSTALLED).analyze()
    assert [share.name for share in found.languages] == ["Python"]
    assert "type hints on 9" in to_sections(found, "en")["style"][0]
    assert "double quotes" in to_sections(found, "en")["style"][0]


def test_what_folders_say_of_themselves(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "a/__init__.py": '# Licence\n\n"""\n====\nCounting\napples. And more.\n"""\n',
            "b/README.md": "Not this.\n# Baskets\n",
            "tests/README.md": "# TEST\n",
            "c/__init__.py": "x = 'no docstring'\n",
        },
    )
    folders = analyze_project(tmp_path).folders
    assert [(one.path, one.about, one.role) for one in folders if "/" not in one.path] == [
        ("a", "Counting apples.", ""),
        ("b", "Baskets", ""),
        ("c", "", ""),
        ("tests", "", "tests"),
    ]


def test_scripts_are_known_by_their_first_lines(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "backup": "#!/bin/sh -e\ntar cf x .\n",
            "bin/count": "#!/usr/bin/env -S python3 -u\nimport sys\n\nprint(len(sys.argv))\n",
            "notes": "remember\n",
            "LICENSE": "#!/bin/sh\n",
            "odd": "#!\n",
        },
    )
    found = analyze_project(tmp_path)
    assert [(one.name, one.files, one.lines) for one in found.languages] == [("Python", 1, 4), ("Shell", 1, 2)]
    assert found.passed_over == ()
