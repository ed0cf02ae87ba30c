"""Every third-party package that localllm imports is in its list of dependencies."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


IMPORT = re.compile(r"^\s*(?:from (\w[\w.]*) import\b|import (\w[\w.]*(?:(?: as|,) [\w.]+)*) *(?:#.*)?$)", re.MULTILINE)
"""A line that imports: each statement has a line of its own. Parsing all of the code takes seconds."""


def imported() -> dict[str, Path]:
    """The top-level modules that are neither localllm's nor the standard library's, each with a file that has it."""
    found: dict[str, Path] = {}
    for file in (ROOT / "localllm").rglob("*.py"):
        for one, several in IMPORT.findall(file.read_text("utf-8")):
            found |= {name.split()[0].partition(".")[0]: file for name in (one or several).split(",") if name.strip()}
    return {name: file for name, file in found.items() if name not in {*sys.stdlib_module_names, "localllm"}}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for lines in lists for line in lines}


def test_what_is_imported_is_declared() -> None:
    modules, names = packages_distributions(), declared()
    missing = {
        module: str(file.relative_to(ROOT))
        for module, file in imported().items()
        if not any(name.lower().replace("_", "-") in names for name in modules.get(module, [module]))
    }
    assert missing == {}
