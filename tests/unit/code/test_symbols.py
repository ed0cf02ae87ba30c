"""Which names a file defines and uses."""

import pytest

from localllm.code.grammars import GRAMMARS
from localllm.code.symbols import symbols
from tests.support.each import each

USES: dict[str, str] = {
    "bash": "helper_call \"$HIDDEN\" # comment_word\necho 'quoted_word'\n",
    "c": 'int f(void) { return helper_call("quoted_word"); } /* comment_word */\n',
    "cpp": 'int f() { return ns::helper_call("quoted_word"); } // comment_word\n',
    "csharp": 'class A { void F() { helper_call("quoted_word"); } } // comment_word\n',
    "go": 'package p\n\nfunc f() { helper_call("quoted_word", `quoted_word`) } // comment_word\n',
    "java": 'class A { void f() { helper_call("quoted_word"); } } // comment_word\n',
    "javascript": 'const a = helper_call("quoted_word", `quoted_word`); // comment_word\n',
    "php": "<?php helper_call(\"quoted_word\", 'quoted_word'); // comment_word\n",
    "python": 'helper_call("quoted_word", f"quoted_word {helper_call}")  # comment_word\n',
    "ruby": "helper_call(\"quoted_word\", 'quoted_word') # comment_word\n",
    "rust": 'fn f() { helper_call("quoted_word"); } // comment_word\n',
    "tsx": 'const a = <b>quoted_word {helper_call("quoted_word")}</b>; // comment_word\n',
    "typescript": 'const a: number = helper_call("quoted_word"); // comment_word\n',
}


@each("language", GRAMMARS)
def test_what_is_used_is_neither_quoted_nor_commented(language: str) -> None:
    names = {name.lstrip(".") for name in symbols(USES[language].encode(), language).references}
    assert "helper_call" in names
    assert not names & {"quoted_word", "comment_word"}


def test_uses_are_counted_without_the_definition_itself() -> None:
    found = symbols(b"def used(): ...\n\ndef alone(): ...\n\nused()\nthing.used()\n", "python")
    assert found.references["used"] == 1
    assert found.references[".used"] == 1
    assert "alone" not in found.references


def test_a_definition_is_shown_by_the_line_with_its_name() -> None:
    text = (
        b'class A {\n  @Override\n  @Named("run")\n  public void run(\n      String name,\n      int count) {\n  }\n}\n'
    )
    run = symbols(text, "java").definitions[1]
    assert (run.name, run.parent, run.line, run.end_line) == ("run", "A", 4, 7)
    assert run.signature == "public void run(String name, int count)"
    assert run.full_name == "A.run"


def test_a_signature_is_not_endless() -> None:
    arguments = ", ".join(f"argument_{number}: int" for number in range(50))
    assert len(symbols(f"def f({arguments}): ...\n".encode(), "python").definitions[0].signature) == 120


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        (b"int A::run() { return 1; }\n", "cpp", "run"),
        (b"def valid?\nend\n", "ruby", "valid"),
        (b"exports.run = function () {};\n", "javascript", "run"),
    ],
)
def test_a_name_is_what_others_call_it_by(text: bytes, language: str, name: str) -> None:
    assert symbols(text, language).definitions[0].name == name
