"""Where the bodies of functions lie, in every language there is a grammar for."""

from localllm.context.code_outline import Body, bodies
from tests.support.each import each

SOURCES = {
    "python": (b'@d\ndef f(\n    a,\n):\n    """Doc."""\n    x = 1\n    return x\n\ng = lambda: 1\n', [Body(6, 7)]),
    "go": (b"package a\nfunc (r *T) F() int {\n\ta()\n\treturn 1\n}\n", [Body(3, 4)]),
    "rust": (b"impl A {\n    fn f(&self) -> i32 {\n        a();\n        1\n    }\n}\n", [Body(3, 4)]),
    "typescript": (b"class A {\n  m(): void {\n    a();\n    b();\n  }\n}\n", [Body(3, 4)]),
    "javascript": (b"const f = (a) => {\n  a();\n  return 1;\n};\n", [Body(2, 3)]),
    "java": (b"class A {\n  A() {\n    a();\n    b();\n  }\n}\n", [Body(3, 4)]),
    "c": (b"int f(int a)\n{\n  a++;\n  return a;\n}\n", [Body(3, 4)]),
    "ruby": (b"def f(a)\n  x\n  y\nend\n", [Body(2, 3)]),
    "php": (b"<?php\nfunction f($a) {\n  a();\n  return 1;\n}\n", [Body(3, 4)]),
    "csharp": (b"class A {\n  int M() {\n    a();\n    return 1;\n  }\n}\n", [Body(3, 4)]),
    "bash": (b"f() {\n  a\n  b\n}\n", [Body(2, 3)]),
}


@each("language", SOURCES)
def test_signatures_docstrings_and_brackets_are_no_part(language: str) -> None:
    text, found = SOURCES[language]
    assert bodies(text, language) == found


def test_none_is_inside_another_and_short_ones_are_left() -> None:
    text = b"def f():\n    def g():\n        a()\n        b()\n    return g\n\ndef h():\n    return 1\n"
    assert bodies(text, "python") == [Body(2, 5)]


def test_broken_text() -> None:
    assert bodies(b"def f(:\n  x\n\xff\n", "python") == bodies(b"def f(:\n  x\n\xef\xbf\xbd\n", "python")
