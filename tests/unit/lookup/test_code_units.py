"""What a file is made of, in the languages people write."""

import pytest

from localllm.lookup.code_units import is_import, units


def found(path: str, text: str) -> list[tuple[str, str, str, int]]:
    return [(unit.kind, unit.name, unit.parent, unit.line) for unit in units(path, text, 1_000)[1:]]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "a.py",
            "LIMIT: int = 3\n\n\nclass A:\n    async def b(self):\n        x = 1\n",
            [("constant", "LIMIT", "", 1), ("class", "A", "", 4), ("method", "b", "A", 5)],
        ),
        (
            "a.go",
            "func (s *Store) Save(o Order) error {\n\tif x() {\n\t}\n}\n\ntype Store struct {\n}\n",
            [("function", "Save", "", 1), ("type", "Store", "", 6)],
        ),
        (
            "a.js",
            "class A {\n  get(x) {\n    return f(x)\n  }\n}\nconst b = (y) => y\nmodule.exports.c = function () {}\n",
            [("class", "A", "", 1), ("method", "get", "A", 2), ("function", "b", "", 6), ("function", "c", "", 7)],
        ),
        (
            "a.ts",
            "export interface A {\n}\nexport async function go<T>(x: T) {\n}\n",
            [("interface", "A", "", 1), ("function", "go", "", 3)],
        ),
        (
            "a.rs",
            "pub struct A;\nimpl A {\n    pub fn new() -> A {\n    }\n}\n",
            [("struct", "A", "", 1), ("impl", "A", "", 2), ("method", "new", "A", 3)],
        ),
        (
            "A.java",
            "public class A {\n    private static int count(List<String> x) {\n    }\n}\n",
            [("class", "A", "", 1), ("method", "count", "A", 2)],
        ),
        (
            "a.h",
            "#define LIMIT 3\nint add(int a, int b);\ntypedef struct {\n} point_t;\n",
            [("constant", "LIMIT", "", 1), ("function", "add", "", 2), ("type", "point_t", "", 4)],
        ),
        ("a.c", "static int add(int a, int b)\n{\n    return call(a, b);\n}\n", [("function", "add", "", 1)]),
        (
            "a.rb",
            "module M\n  class A\n    def ok?\n    end\n  end\nend\n",
            [("module", "M", "", 1), ("class", "A", "M", 2), ("method", "ok", "A", 3)],
        ),
        ("a.sh", "build() {\n}\nfunction test {\n}\n", [("function", "build", "", 1), ("function", "test", "", 3)]),
        ("a.md", "# One\n\ntext\n\nTwo\n---\n", [("heading", "One", "", 1), ("heading", "Two", "", 5)]),
        ("a.toml", "[tool.x]\nline-length = 3\n", [("key", "tool.x", "", 1), ("key", "line-length", "", 2)]),
        ("Makefile", "all: build\n\tmake x\nVAR := 1\n", [("target", "all", "", 1)]),
    ],
)
def test_definitions(path: str, text: str, expected: list[tuple[str, str, str, int]]) -> None:
    assert found(path, text) == expected


def test_what_is_said_of_a_definition_is_its_docstring_or_the_comment_above() -> None:
    python = units("a.py", 'def f(\n    x: int,\n) -> int:\n    """Add one."""\n    return x + 1\n', 1_000)
    script = units("a.js", "/**\n * Bytes as people read them.\n */\nfunction formatBytes(b) {\n}\n", 1_000)

    assert python[1].doc == "Add one."
    assert "Bytes as people read them." in script[1].doc


def test_the_docstring_of_a_function_is_not_said_of_its_first_variable() -> None:
    (function, variable) = units("a.py", 'def f(x):\n    """Add one."""\n    net = x + 1\n    return net\n', 1_000)[1:]
    assert (function.doc, variable.name, variable.doc) == ("Add one.", "net", "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from a.b import c", True),
        ("import { x } from '@scope/name'", True),
        ('\t"github.com/spf13/pflag"', True),
        ('\tflag "github.com/spf13/pflag"', True),
        ("const x = require('node:fs')", True),
        ("#include <uv.h>", True),
        ("use std::io;", True),
        ("important = 3", False),
        ("print('import x')", False),
    ],
)
def test_imports(line: str, expected: bool) -> None:
    assert is_import(line) == expected
