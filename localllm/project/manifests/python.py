"""Commands of a Python project."""

import re
from collections.abc import Iterator

from localllm.project.manifests.dependencies import python_dependencies
from localllm.project.manifests.signs import Command, CommandKind, Signs, at, quoted, table

PYTHON = "python"
_PYTEST_SECTION = {"pyproject.toml": r"^\[tool\.pytest", "setup.cfg": r"^\[tool:pytest\]", "tox.ini": r"^\[pytest\]"}
_MANIFESTS = tuple(
    """
    pyproject.toml setup.py setup.cfg requirements.txt Pipfile tox.ini noxfile.py manage.py
    """.split()
)
_LINTERS: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("ruff check", ("ruff.toml", ".ruff.toml"), {"pyproject.toml": r"^\[tool\.ruff"}),
    ("flake8", (".flake8",), {"setup.cfg": r"^\[flake8\]", "tox.ini": r"^\[flake8\]"}),
    ("pylint", (".pylintrc", "pylintrc"), {"pyproject.toml": r"^\[tool\.pylint"}),
    ("mypy .", ("mypy.ini", ".mypy.ini"), {"pyproject.toml": r"^\[tool\.mypy\]", "setup.cfg": r"^\[mypy\]"}),
    ("pyright", ("pyrightconfig.json",), {"pyproject.toml": r"^\[tool\.pyright\]"}),
    ("black --check .", (), {"pyproject.toml": r"^\[tool\.black\]"}),
)
"""The command, its own configuration files, and sections in shared ones."""


def commands(signs: Signs) -> Iterator[Command]:
    """Yield the commands of a Python project, more specific first."""
    yield from _tests(signs)
    if source := _built_from(signs):
        yield _command(
            "build", f"{_runner(signs)} build".strip() if _runner(signs) in _BUILDERS else "python -m build", source
        )
    yield from _runs(signs)
    yield from _lints(signs)


def _built_from(signs: Signs) -> str:
    """Return the file that defines the build; "" for a program without a distribution."""
    if signs.says("pyproject.toml", r"^\[build-system\]|^\[tool\.poetry\]|^\[project\.scripts\]"):
        return "pyproject.toml"
    return "setup.py" if "setup.py" in signs.names else ""


_BUILDERS = {"uv", "poetry", "pdm"}


def _runner(signs: Signs) -> str:
    """Return the manager by its lock file, or its section in pyproject.toml."""
    for name, manager in (
        ("uv.lock", "uv"),
        ("poetry.lock", "poetry"),
        ("pdm.lock", "pdm"),
        ("Pipfile", "pipenv"),
    ):
        if name in signs.names or name in signs.above:
            return manager
    return "poetry" if signs.says("pyproject.toml", r"^\[tool\.poetry\]") else ""


def python(signs: Signs) -> str:
    """Return the command that starts Python: in the folder's own environment, or by its manager."""
    if signs.own_python:
        return signs.own_python
    return f"{runner} run python" if (runner := _runner(signs)) else signs.python


def _module(signs: Signs, module: str) -> str:
    """Return the command that runs a module as a program."""
    if not signs.own_python and (runner := _runner(signs)):
        return f"{runner} run {module}"
    return f"{python(signs)} -m {module}"


def pytest_source(signs: Signs) -> str:
    """Return the file that shows the use of pytest; "" for none."""
    if found := signs.has("pytest.ini", ".pytest.ini", "conftest.py"):
        return found
    for name, pattern in _PYTEST_SECTION.items():
        if signs.says(name, pattern):
            return name
    if signs.pytest:
        return "tests"
    for name in (*_MANIFESTS, *sorted(signs.texts)):
        if name in signs.texts and {"pytest", "pytest-django", "pytest-cov"} & set(
            python_dependencies(name, signs.texts[name])
        ):
            return name
    return ""


def _tests(signs: Signs) -> Iterator[Command]:
    if source := pytest_source(signs):
        yield _command("test", _module(signs, "pytest"), source)
    if "manage.py" in signs.names and signs.says("manage.py", "django"):
        yield _command("test", f"{python(signs)} manage.py test", "manage.py")
    if signs.has("tox.ini") and signs.says("tox.ini", r"^\[testenv|^\[tox\]"):
        yield _command("test", "tox", "tox.ini")
    if "noxfile.py" in signs.names:
        yield _command("test", "nox", "noxfile.py")
    if signs.unittests:
        yield _command("test", _unittest(signs), signs.unittests[0])
    elif signs.has(*_MANIFESTS) and (folder := signs.has("tests/", "test/")):
        yield _command("test", _module(signs, "pytest"), folder)


def _unittest(signs: Signs) -> str:
    """Return the unittest command: discovery finds packages; a single folder that is none must be named."""
    below = {path.rsplit("/", 1)[0] if "/" in path else "." for path in signs.unittests}
    loose = sorted(folder for folder in below if folder != "." and folder not in signs.packages)
    start = f" -s {quoted(loose[0])}" if len(below) == 1 and loose else ""
    return f"{python(signs)} -m unittest discover{start}"


def _runs(signs: Signs) -> Iterator[Command]:
    if "manage.py" in signs.names and signs.says("manage.py", "django"):
        yield _command("run", f"{python(signs)} manage.py runserver", "manage.py")
    manifest = signs.toml("pyproject.toml")
    scripts = {**table(manifest, "project", "scripts"), **table(manifest, "tool", "poetry", "scripts")}
    for name in list(scripts)[:3]:
        if re.fullmatch(r"[\w.-]+", name):
            prefix = f"{_runner(signs)} run " if _runner(signs) else ""
            yield _command("run", prefix + name, "pyproject.toml")


def _lints(signs: Signs) -> Iterator[Command]:
    for line, own_files, sections in _LINTERS:
        source = signs.has(*own_files) or next((name for name, text in sections.items() if signs.says(name, text)), "")
        if source:
            yield _command("lint", line, source)
    if source := signs.has(".pre-commit-config.yaml"):
        yield _command("lint", "pre-commit run --all-files", source)


def entry_points(signs: Signs) -> Iterator[str]:
    """Yield installed programs, as `name (module:function)`."""
    manifest = signs.toml("pyproject.toml")
    for path in (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts")):
        for name, target in table(manifest, *path).items():
            function = target if isinstance(target, str) else at(target, "callable")
            yield f"{name} ({function})" if isinstance(function, str) else name


def _command(kind: CommandKind, line: str, source: str) -> Command:
    return Command(kind, line, source, PYTHON)
