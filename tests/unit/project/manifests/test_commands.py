"""The rules by which a folder's files tell its commands."""

import json

import pytest

from localllm.project.manifests.commands import best, commands, narrowed
from localllm.project.manifests.recipes import in_workflow
from localllm.project.manifests.signs import Signs, is_broken, is_manifest, parse_toml, tame
from tests.support.each import each


def _test_command(*names: str, **others: object) -> str:
    """The test command; `texts` come as name → text, their names are there as well."""
    texts: dict[str, str] = others.pop("texts", {})  # type: ignore[assignment] - what the caller gave
    found = best(commands(Signs(frozenset({*names, *texts}), texts, **others)), "test")  # type: ignore[arg-type] - as above
    return found.line if found else ""


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("uv.lock", "uv run pytest"),
        ("poetry.lock", "poetry run pytest"),
        ("pdm.lock", "pdm run pytest"),
        ("Pipfile", "pipenv run pytest"),
        ("other.lock", "python -m pytest"),
    ],
)
def test_python_by_its_lock_file(lock: str, command: str) -> None:
    assert _test_command("pytest.ini", lock) == command
    assert _test_command("pytest.ini", lock, own_python=".venv/bin/python") == ".venv/bin/python -m pytest"


@pytest.mark.parametrize(
    "texts",
    [
        {"pyproject.toml": "[tool.pytest.ini_options]"},
        {"setup.cfg": "[tool:pytest]"},
        {"tox.ini": "[tox]\n[pytest]\n"},
        {"setup.cfg": "[options]\ninstall_requires =\n    requests\ntests_require =\n    pytest>=7\n"},
        {"setup.py": "setup(tests_require=['pytest'])"},
        {"requirements-dev.txt": "Pytest==8 # tests\n"},
        {"pyproject.toml": "[tool.pdm.dev-dependencies]\ntest = ['pytest-cov']"},
        {"pyproject.toml": "[project.optional-dependencies]\ntest = ['pytest[x] ; python_version > \"3\"']"},
    ],
)
def test_the_many_places_that_tell_of_pytest(texts: dict[str, str]) -> None:
    assert _test_command(texts=texts) == "python -m pytest"


def test_python_without_pytest() -> None:
    assert _test_command(texts={"tox.ini": "[tox]\n"}) == "tox"
    assert _test_command("noxfile.py") == "nox"
    assert _test_command(unittests=("tests/test_a.py",)) == "python -m unittest discover -s tests"
    assert _test_command(unittests=("tests/test_a.py",), packages=frozenset({"tests"})) == "python -m unittest discover"
    assert _test_command("tests/") == ""
    assert _test_command("tests/", "setup.py") == "python -m pytest"


@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lockb", "bun run test"),
        ("bun.lock", "bun run test"),
        ("package-lock.json", "npm test"),
    ],
)
def test_scripts_by_the_lock_file(lock: str, command: str) -> None:
    text = json.dumps({"scripts": {"test": "x"}})
    assert _test_command(lock, texts={"package.json": text}) == command
    assert _test_command(texts={"package.json": text}, above=frozenset({lock})) == command


def test_the_manager_that_is_named_wins() -> None:
    text = json.dumps({"packageManager": "yarn@4.0.0", "scripts": {"test": "x", "build": "y"}})
    found = commands(Signs(frozenset({"package.json", "package-lock.json"}), {"package.json": text}))
    assert [command.line for command in found] == ["yarn test", "yarn build"]


def test_the_language_there_is_most_of_comes_first() -> None:
    texts = {"Cargo.toml": "", "pyproject.toml": "[tool.pytest.ini_options]", "Makefile": "test:\n"}
    assert _test_command(texts=texts) == "python -m pytest"
    assert _test_command(texts=texts, languages=("Rust", "Python")) == "cargo test"
    assert _test_command(texts=texts, languages=("HTML", "C")) == "python -m pytest"


@each(
    ("names", "texts", "command"),
    [
        ((), {"Cargo.toml": "[workspace]\nmembers = ['a']"}, "cargo test --workspace"),
        (("mvnw",), {"pom.xml": ""}, "./mvnw test"),
        ((), {"build.gradle": ""}, "gradle test"),
        (("shop.sln",), {}, "dotnet test"),
        ((".rspec",), {"Gemfile": ""}, "bundle exec rspec"),
        ((), {"Rakefile": "Rake::TestTask.new"}, "rake"),
        ((), {"composer.json": '{"scripts": {"test": "x"}}'}, "composer test"),
        ((), {"composer.json": '{"require-dev": {"pestphp/pest": "1"}}'}, "vendor/bin/pest"),
        (("test/",), {"pubspec.yaml": "dependencies:\n  flutter:\n    sdk: flutter\n"}, "flutter test"),
        (("test/",), {"pubspec.yaml": "dependencies:\n  path: any\n"}, "dart test"),
        (("Tests/",), {"Package.swift": ""}, "swift test"),
        ((), {"build.zig": 'b.step("test", "x")'}, "zig build test"),
        ((), {"meson.build": "test('a', exe)"}, "meson test -C build"),
        ((), {"configure.ac": ""}, "make check"),
        ((), {"build.sbt": ""}, "sbt test"),
        (("stack.yaml",), {}, "stack test"),
        (("dune-project",), {}, "dune test"),
        (("t/",), {"cpanfile": ""}, "prove -lr t"),
        (("test/",), {"Project.toml": 'uuid = "x"'}, "julia --project -e 'using Pkg; Pkg.test()'"),
        ((), {"deno.json": "{}"}, "deno test"),
        ((), {"justfile": "set shell := ['x']\n\n@test *args: build\n  x\n"}, "just test"),
        ((), {"Taskfile.yml": "version: 3\ntasks:\n  test:\n    cmds: []\n"}, "task test"),
        ((), {"Makefile": "build check: x\n"}, "make check"),
        ((), {"Makefile": "test := 1\nVAR=test:\n\ttest:\n"}, ""),
        ((), {"CMakeLists.txt": "project(x)"}, ""),
    ],
)
def test_other_languages(names: tuple[str, ...], texts: dict[str, str], command: str) -> None:
    assert _test_command(*names, texts=texts) == command


def test_a_workflow() -> None:
    text = (
        "on: push\njobs:\n  a:\n    steps:\n      - run: |\n          make deps\n          make test\n"
        "        env: pytest\n      - run: 'tox -e py'\n"
    )
    assert [command.line for command in in_workflow("w.yml", text)] == ["make test", "tox -e py"]


@pytest.mark.parametrize(
    ("line", "path", "command"),
    [
        ("uv run pytest", "tests/a b.py", "uv run pytest 'tests/a b.py'"),
        ("python -m unittest discover -s tests", "tests/a.py", "python -m unittest tests/a.py"),
        ("npm test", "a.test.js", "npm test -- a.test.js"),
        ("go test ./...", "a/b_test.go", "go test ./a"),
        ("make test", "a.c", "make test"),
        ("cargo test", "", "cargo test"),
    ],
)
def test_the_tests_of_one_file(line: str, path: str, command: str) -> None:
    assert narrowed(line, path) == command


def test_what_no_manifest_has() -> None:
    assert tame("Makefile", "a\r\n" + "b" * 1_000 + "\n\n\n\n\nc") == "a\n\nc"
    assert tame("package.json", "x" * 1_000) == "x" * 1_000
    assert parse_toml("a." * 10_000 + "b = 1") is None
    assert is_broken("package.json", "[")
    assert not is_broken("Makefile", "[")
    assert is_manifest("requirements-dev.txt")
    assert not is_manifest("README.md")
