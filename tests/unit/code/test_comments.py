"""Comments, docstrings and blank lines are no code, unless a tool reads them."""

from localllm.code.comments import have_same_code
from localllm.code.grammars import GRAMMARS
from tests.support.each import each

FUNCTION = 'def f(x):\n    """Old."""\n    return x  # the x\n'
COMMENTS: dict[str, tuple[str, str]] = {
    "bash": ("a=1\n", "# say\na=1 # so\n"),
    "c": ("int a;\n", "/* say */\nint a; // so\n"),
    "cpp": ("int a;\n", "/* say */\nint a; // so\n"),
    "csharp": ("class A {}\n", "// say\n\nclass A {}\n"),
    "go": ("package p\n", "// Package p says.\npackage p\n"),
    "java": ("class A {}\n", "/** Say. */\nclass A {}\n"),
    "javascript": ("let a = 1;\n", "/** Say. */\nlet a = 1; // so\n"),
    "php": ("<?php $a = 1;\n", "<?php $a = 1; // so\n"),
    "python": (FUNCTION, 'def f(x):\n    """New.\n\n    Longer.\n    """\n    # say\n    return x\n'),
    "ruby": ("a = 1\n", "# say\na = 1\n"),
    "rust": ("fn f() {}\n", "/// Says.\nfn f() {}\n"),
    "tsx": ("const a = <b/>;\n", "// say\nconst a = <b/>;\n"),
    "typescript": ("const a: number = 1;\n", "// say\nconst a: number = 1;\n"),
}


@each("language", GRAMMARS)
def test_comments_are_no_code(language: str) -> None:
    assert have_same_code(*COMMENTS[language], language)


@each(
    ("language", "old", "new"),
    [
        ("python", FUNCTION, FUNCTION.replace("return x ", "return y ")),
        ("python", FUNCTION, FUNCTION.replace('"""Old."""', "f'{g(x)}'")),
        ("python", FUNCTION, FUNCTION.replace("    return", "     return")),
        ("python", FUNCTION, FUNCTION.replace("Old.", "Old.\n\n    >>> f(1)\n    2\n    ")),
        ("python", "x = '# a'\n", "x = '# b'\n"),
        ("python", "x = 1\n", "x = (  # a\n"),
        ("go", "package p\n", "//go:build linux\n\npackage p\n"),
        ("rust", "fn f() {}\n", "/// ```\n/// f();\n/// ```\nfn f() {}\n"),
        ("bash", "a=1\n", "#!/bin/bash\na=1\n"),
        ("python", 'x = """a\n\nb"""\n', 'x = """a\nb"""\n'),
        ("python", 'x = """a \nb"""\n', 'x = """a\nb"""\n'),
        ("javascript", "let a = `x\n\ny`;\n", "let a = `x\ny`;\n"),
        ("go", "package p\n\nvar s = `x\n\ny`\n", "package p\n\nvar s = `x\ny`\n"),
        ("rust", 'const A: &str = "x\n\ny";\n', 'const A: &str = "x\ny";\n'),
        ("bash", "cat <<E\na\n\nb\nE\n", "cat <<E\na\nb\nE\n"),
        ("ruby", "a = <<~E\n a\n\n b\nE\n", "a = <<~E\n a\n b\nE\n"),
    ],
)
def test_what_runs_and_what_tools_read_is_code(language: str, old: str, new: str) -> None:
    assert not have_same_code(old, new, language)
