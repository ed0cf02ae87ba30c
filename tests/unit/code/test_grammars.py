"""Which language a file is in, and that every grammar and query loads."""

import subprocess
import sys

import pytest

from localllm.code.grammars import GRAMMARS, language_of, outline_query, parser
from tests.support.each import each


@pytest.mark.parametrize("language", GRAMMARS)
def test_every_language_has_a_grammar_and_a_query(language: str) -> None:
    assert parser(language).parse(b"").root_node is not None
    assert outline_query(language).pattern_count > 0


@each(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("src/deep/A.PYI", "python"),
        ("a.tsx", "tsx"),
        ("a.mts", "typescript"),
        ("Gemfile", "ruby"),
        (".bashrc", "bash"),
        ("a.h", "c"),
        ("日本語.rs", "rust"),
        ("a.cs", "csharp"),
        ("README.md", None),
        ("py", None),
        ("", None),
    ],
)
def test_the_language_is_known_by_the_name(name: str, language: str | None) -> None:
    assert language_of(name) == language


def test_a_header_is_told_by_what_is_in_it() -> None:
    assert language_of("a.h", b"#include <x.h>\nint f(void);\n") == "c"
    assert language_of("a.h", b"#pragma once\nclass A;\n") == "cpp"
    assert language_of("a.h", b"  template <typename T> T f();\n") == "cpp"


def test_a_grammar_is_loaded_only_when_it_is_needed() -> None:
    script = """
import sys
import localllm.code.outline
before = [m for m in sys.modules if m.startswith("tree_sitter")]
localllm.code.outline.outline(b"", "go")
print(before, sorted(m for m in sys.modules if m.startswith("tree_sitter_") and "." not in m))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "[] ['tree_sitter_go']\n"
