"""Lines that are indented as no Python text can be."""

from localllm.safety.code_loss import misindented
from tests.support.each import each


@each(
    ("text", "line"),
    [
        ("def f():\n    a()\nb()\n    c()\n", 4),
        ("if a:\nb()\n", 2),
        ("if a:\n    # a comment\n\nb()\n", 4),
        ("if a:\n        b()\n    c()\n", 3),
        ("  a()\n", 1),
        ("def f():\n    a()\n\n    # c\n    if a: b()\n    return {\n  1: 2}\n\nx = a[1:\n2]\n", None),
        ("class A:\n    def f(self): ...\n\n    x: int\n", None),
        ("match a:\n    case 1:\n        pass\n", None),
        ("x = '''\n   a:\nb'''\n", None),
        ("a = (\n", None),
        ("a = $\n", None),
        ("", None),
        ("if a:", 2),
    ],
)
def test_the_first_such_line(text: str, line: int | None) -> None:
    assert misindented(text) == line
