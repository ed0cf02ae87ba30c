"""A new version that has lost what nobody asked to remove is known for one; honest changes are not."""

import pytest

from localllm.safety.code_loss import detect_code_destruction, new_errors
from tests.support.each import each

PYTHON = "import os\nimport re\nimport sys\n\n\n" + "\n\n".join(
    f'def step_{n}(value):\n    """Step {n}."""\n    value += {n}\n    if value > {n}:\n'
    "        value = os.path.join(str(value))\n    return value\n"
    for n in range(8)
)
GO_BODY = "\tv *= 2\n\tv -= 1\n\tv++\n\treturn v\n"
BODY = (
    '    """Step 3."""\n    value += 3\n    if value > 3:\n        value = os.path.join(str(value))\n    return value\n'
)
GO = "package a\n\n" + "\n".join(f"func Step{n}(v int) int {{\n\tv += {n}\n{GO_BODY}}}\n" for n in range(6))
TEXT = "".join(f"Line {n} of the notes.\n" for n in range(30))


def loss(old: str, new: str, path: str) -> str:
    found = detect_code_destruction(old, new, path)
    return found.loss if found else ""


@each(
    ("old", "new", "path", "expected"),
    [
        (PYTHON, "", "a.py", "emptied"),
        (PYTHON, "\n \n", "a.py", "emptied"),
        (TEXT, "", "a.txt", "emptied"),
        (PYTHON, "import os\n\n\n# ... existing code ...\n\n\ndef new():\n    pass\n", "a.py", "placeholder"),
        (TEXT, "Line 0 of the notes.\n[rest of file unchanged]\n", "a.txt", "placeholder"),
        (TEXT, "最初の行\n（以下省略）\n", "a.txt", "placeholder"),
        (PYTHON, PYTHON[: PYTHON.index("def step_3")], "a.py", "definitions"),
        (GO, GO[: GO.index("func Step2")], "a.go", "definitions"),
        (PYTHON, PYTHON.replace(BODY, "    pass\n"), "a.py", "bodies"),
        (GO, GO.replace(f"\tv += 3\n{GO_BODY}", "\t// TODO\n"), "a.go", "bodies"),
        (PYTHON, PYTHON.replace("import os\nimport re\nimport sys\n", ""), "a.py", "imports"),
        (PYTHON, PYTHON[: PYTHON.index("def step_7")] + "def step_", "a.py", "cut"),
        (TEXT, "Line 0 of the notes.\n" * 14, "a.txt", "lines"),
    ],
)  # fmt: skip
def test_losses_are_found(old: str, new: str, path: str, expected: str) -> None:
    assert loss(old, new, path) == expected


@each(
    ("old", "new", "path"),
    [
        (PYTHON, PYTHON.replace("step_3", "stage_3"), "a.py"),
        (PYTHON, PYTHON + "\n\ndef more():\n    pass\n", "a.py"),
        (PYTHON, PYTHON[: PYTHON.index("def step_7")].rstrip() + "\n", "a.py"),  # one of eight
        (PYTHON, PYTHON.replace("import sys\n", ""), "a.py"),
        (PYTHON, PYTHON.replace("value += 3", "value += 4"), "a.py"),
        (GO, GO.replace("\tv *= 2\n", ""), "a.go"),
        (TEXT, TEXT[: len(TEXT) * 2 // 3], "a.txt"),
        ("a = 1\nb = 2\nc = 3\n", "a = 1\n", "a.py"),
        ("", "x = 1\n", "a.py"),
        ("def f():\n    pass\n", "def g():\n    pass\n", "a.py"),
        ("# ... existing code ...\nx = 1\n", "# ... existing code ...\nx = 2\n", "a.py"),
    ],
)
def test_honest_changes_are_let_through(old: str, new: str, path: str) -> None:
    assert loss(old, new, path) == ""


def _conflict(ours: str, theirs: str) -> str:
    return f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> feature\n"


@each(
    ("old", "new", "path", "expected"),
    [
        (_conflict(PYTHON, PYTHON.replace("value +=", "value -=")), PYTHON, "a.py", ""),
        (_conflict(TEXT, TEXT.upper()), TEXT, "a.txt", ""),
        (_conflict(TEXT, ""), TEXT, "a.txt", ""),
        (TEXT + _conflict("a\n" * 20, "b\n" * 20), f"{TEXT}a\nb\n", "a.txt", ""),
        (_conflict(PYTHON, f"{PYTHON}\nx = 1\n"), PYTHON[: PYTHON.index("def step_3")], "a.py", "definitions"),
        (_conflict(TEXT, TEXT.upper()), "Line 0 of the notes.\n" * 5, "a.txt", "lines"),
        (_conflict(TEXT, TEXT.upper()), "", "a.txt", "emptied"),
    ],
)
def test_a_resolved_conflict_is_compared_with_each_side(old: str, new: str, path: str, expected: str) -> None:
    assert loss(old, new, path) == expected


def test_what_is_missing_is_named() -> None:
    found = detect_code_destruction(PYTHON, PYTHON[: PYTHON.index("def step_3")], "a.py")
    assert found is not None
    assert "step_3, step_4" in str(found.phrase)
    assert "become" in str(found.phrase)


@pytest.mark.parametrize(
    ("path", "old", "new", "lines"),
    [
        ("a.py", "x = 1\n", "x = (1\n", "1"),
        ("a.py", "x = (1\n", "x = (2\n", ""),
        ("a.py", "x = (1\n", "x = 1\n", ""),
        ("a.txt", "x", "x = (", ""),
        ("a.py", "def f():\n    a()\n", "def f():\n    a()\nb()\n    c()\n", "4"),
        ("a.py", "a()\n    b()\n", "a()\n    c()\n", ""),
        ("a.js", "let a;\n", "let a;\nlet b = {;\n", "2"),
        ("a.md", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", "x\n>>>>>>> b\n", "2"),
    ],
)
def test_only_new_syntax_errors_are_told(path: str, old: str, new: str, lines: str) -> None:
    told = new_errors(path, old, new)
    assert bool(told) == bool(lines)
    assert all(f"line {lines}:" in text for text in told)


RUST = "fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\nfn two() -> i64 {\n    add(1, 1)\n}\n"


@each(
    ("path", "new", "told"),
    [
        ("a.rs", RUST.replace("a + b\n}\n", "a + b\n"), "(1 `}` missing)"),
        ("a.rs", RUST.replace("1, 1)", "1, 1"), "(1 `)` missing)"),
        ("a.rs", RUST + "}\n}\n", "(2 `}` too many)"),
        ("a.rs", RUST.replace("a + b", "a + + + ;;= b"), "fix them."),
        ("a.rs", RUST.replace("a + b\n}\n", "a + b // :)\n"), "(1 `}` missing)"),
        ("a.rs", RUST.replace("a + b", 'print!("{") a + + + ;;= b'), "fix them."),
    ],
)
def test_a_bracket_that_is_missing_is_named(path: str, new: str, told: str) -> None:
    assert [text.endswith(told) for text in new_errors(path, RUST, new)] == [True]
