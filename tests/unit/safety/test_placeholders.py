"""Lines that stand for text are told from lines that only talk of it."""

from localllm.safety.code_loss import placeholder
from tests.support.each import each


@each(
    "line",
    [
        "# ... existing code ...",
        "// ... rest of the code unchanged",
        "    # rest of the file remains the same",
        "/* ... existing styles ... */",
        "<!-- rest of the document unchanged -->",
        "# ... (rest of the function) ...",
        "{/* ... existing code ... */}",
        "... rest of code ...",
        "// other methods remain unchanged",
        "[rest of file unchanged]",
        "# 以下同じ",
        "// …既存のコード…",
        "（以下省略）",
    ],
)
def test_placeholders(line: str) -> None:
    assert placeholder(f"a = 1\n{line}\nb = 2\n", "a = 1\n") == line.strip()
    assert placeholder(f"a = 1\n{line}\n", f"{line}\n") == ""


@each(
    "line",
    [
        "# the existing code handles None",
        "def f(): ...",
        "    ...",
        "...",
        "const {a, ...rest} = b;",
        "// unchanged values are skipped",
        "# remaining tests run nightly",
        "return rest",
        "変更なしの場合は何もしない",
        "# 省略可能な引数",
    ],
)
def test_lines_that_are_meant(line: str) -> None:
    assert placeholder(line, "") == ""
