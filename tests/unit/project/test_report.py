"""What an analysis says in LOCALLLM.md, in English and Japanese."""

from pathlib import Path

from localllm.project.analyzer import analyze_project
from localllm.project.facts import FolderFacts, PassedOver, ProjectAnalysis
from localllm.project.manifests.signs import Command
from localllm.project.report import as_rows, passed_over, to_sections
from tests.support import project_trees as trees
from tests.support.project_trees import plant


def test_a_project_in_english(tmp_path: Path) -> None:
    sections = to_sections(analyze_project(plant(tmp_path, trees.PYTHON_PACKAGE)), "en")
    assert sections["dna"] == (
        "- What it is: <!-- one line: what this is for, and for whom -->",
        "- Language: Python (files: 3, lines: 17)",
        "- Frameworks: Click",
        "- Architecture: <!-- what its parts are, and how they work together -->",
        "- Main libraries: rich, pytest, ruff",
        "- Built from: pyproject.toml",
        "- Tests: `uv run pytest` (pyproject.toml)",
        "- Build: `uv build` (pyproject.toml)",
        "- Run: `uv run apples` (pyproject.toml)",
        "- Checks: `ruff check` (pyproject.toml), `mypy .` (pyproject.toml)",
        "- Entry points: apples (apples.cli:main)",
    )
    assert sections["folders"] == (
        "- src/ - source code, Python, files: 2",
        "  - src/apples/ - Counting apples, Python, files: 2",
        "- tests/ - tests, Python, files: 1",
    )


def test_a_project_in_japanese(tmp_path: Path) -> None:
    tree = {**trees.NEXT, "app/apples.ts": 'export function countApples() {\n  return "3";\n}\n' * 12}
    sections = to_sections(analyze_project(plant(tmp_path, tree)), "ja")
    assert "- 言語: TypeScript（3 ファイル、45 行）" in sections["dna"]
    assert "- テスト: `pnpm test`（package.json）" in sections["dna"]
    assert "- app/ - ソースコード、TypeScript、2 ファイル" in sections["folders"]
    assert sections["style"][0] == (
        "- TypeScript: インデントはスペース 2 個、ダブルクォート、セミコロンあり、一行 79 文字まで、関数名は camelCase"
    )


def test_the_packages_of_a_project_of_several(tmp_path: Path) -> None:
    lines = to_sections(analyze_project(plant(tmp_path, trees.MONOREPO)), "en")["dna"]
    assert lines[-3:] == (
        "- Package packages/api/: @acme/api",
        "- Package packages/web/: @acme/web, tests: `yarn test`",
        "- Package services/worker/: worker, tests: `python -m pytest`",
    )


def test_nothing_is_known_of_nothing() -> None:
    sections = to_sections(ProjectAnalysis(), "en")
    assert all("<!--" in line for lines in sections.values() for line in lines)
    assert [len(lines) for lines in sections.values()] == [2, 1, 1]


GOOGLE = '    """Count.\n\n    Args:\n        n: apples\n\n    Returns:\n        More.\n    """\n'
NUMPY = '    """Count.\n\n    Parameters\n    ----------\n    n : int\n    """\n'
REST = '    """Count.\n\n    :param n: apples\n    """\n'


def style_of(folder: Path, name: str, text: str) -> str:
    return to_sections(analyze_project(plant(folder, {name: text})), "en")["style"][0]


def test_habits_of_python(tmp_path: Path) -> None:
    hinted = "def count_apples(n: int) -> int:\n{}    return 'x'\n\n\n"
    for number, (doc, said) in enumerate(
        [
            (GOOGLE, "Google style"),
            (NUMPY, "NumPy style"),
            (REST, "reStructuredText fields"),
            ('    """Count."""\n', "plain text"),
        ]
    ):
        assert style_of(tmp_path / str(number), "a.py", hinted.format(doc) * 16) == (
            "- Python: indented with 4 spaces, single quotes, lines up to 79 characters, functions in snake_case, "
            f"type hints everywhere, docstrings on 100% of functions ({said})"
        )
    assert style_of(tmp_path / "none", "a.py", "def countApples(n):\n\treturn n\n\n" * 16) == (
        "- Python: indented with tabs, lines up to 79 characters, functions in camelCase, no type hints, no docstrings"
    )
    mixed = hinted.format("") * 3 + "def count_more(n):\n    return n\n\n\n" * 3
    assert "type hints on 50% of functions" in style_of(tmp_path / "mixed", "a.py", mixed)


def test_a_few_lines_tell_no_habits_and_go_decides_its_names_itself(tmp_path: Path) -> None:
    assert style_of(tmp_path / "few", "a.py", "def count(n):\n    return 'n'\n") == "- Python: indented with 4 spaces"
    go = "// Count counts.\nfunc Count%d(n int) int {\n\treturn n\n}\n\n"
    text = "package a\n\n" + "".join(go % number for number in range(12))
    assert style_of(tmp_path / "go", "a.go", text) == "- Go: indented with tabs, lines up to 79 characters"


def test_what_is_a_framework_is_no_library_as_well(tmp_path: Path) -> None:
    package = '{"dependencies": {"next": "14", "zod": "3"}}'
    found = analyze_project(
        plant(tmp_path, {"package.json": package, "go.mod": "module a\n\nrequire github.com/gin-gonic/gin v1\n"})
    )
    assert {"- Frameworks: Gin, Next.js", "- Main libraries: zod"} <= {*to_sections(found, "en")["dna"]}
    conda = "dependencies:\n  - python=3.11\n  - pandas\n"
    found = analyze_project(plant(tmp_path / "conda", {"environment.yml": conda, "a.py": "import pandas\n"}))
    assert "- Main libraries: pandas" in to_sections(found, "en")["dna"]


def test_rows_for_a_screen_have_no_markdown_and_nothing_that_is_left_to_a_person(tmp_path: Path) -> None:
    rows = as_rows(analyze_project(plant(tmp_path, trees.MONOREPO)), "en")
    assert ("Package packages/web/", "@acme/web, tests: yarn test") in rows.project
    assert rows.project[0][0] == "Language"
    assert {"packages/", "  packages/api/"} <= {label for label, _ in rows.folders}
    assert not any("`" in text or "<!--" in text for part in rows for row in part for text in row)


def test_habits_of_javascript(tmp_path: Path) -> None:
    text = "/**\n * Counts.\n */\nfunction countApples (n) {\n  // isn't it\n  return `it's ${n}` + 'x'\n}\n" * 6
    assert style_of(tmp_path, "a.js", text) == (
        "- JavaScript: indented with 2 spaces, single quotes, no semicolons, lines up to 79 characters, "
        "functions in camelCase, JSDoc comments"
    )


def test_long_lines_now_and_then_are_no_habit(tmp_path: Path) -> None:
    text = "x = 1  # a line of the usual length, which is not very long, but longer than seventy-nine\n" * 500
    assert "lines up to 100 characters" in style_of(tmp_path, "a.py", text + "y = 1  #" + "-" * 150 + "\n")


def test_what_a_project_says_cannot_break_out_of_its_line() -> None:
    evil = "a`\n## TODO\n- [ ] x <!-- \x1b[31m -->"
    analysis = ProjectAnalysis(
        frameworks=(evil,),
        dependencies=(evil,),
        commands=(Command("test", evil, evil, "make"),),
        folders=(FolderFacts(evil, 1, about=evil),),
        entry_points=(evil,),
    )
    for lines in to_sections(analysis, "en").values():
        for line in lines:
            assert "\n" not in line
            assert "\x1b" not in line
            assert line.count("`") in (0, 2)
            assert line.count("<!--") == line.count("-->")


def test_what_was_passed_over() -> None:
    notes = (PassedOver("seconds", 10), PassedOver("broken", 1, "a\nb.json"))
    assert passed_over(notes, "en") == (
        "Time ran out after 10 files; there are more.",
        "Build files with errors in them: 1, such as a␊b.json.",
    )
    assert "a␊b.json" in passed_over(notes, "ja")[1]
