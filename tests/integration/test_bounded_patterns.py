"""Expressions that are tried on text of strangers take time that grows with it, not with its square."""

import re
from pathlib import Path

import pytest

import localllm
from tests.support.in_time import faults

PACKAGE = Path(localllm.__file__).parent

LONG = 400_000

TRIES = {
    "commands of databases": """
        from localllm.agent.checks.sql_queries import only_queries, sql_error
        for unit in ("\\n", "\\n ", ";", ";/", "("):
            assert not only_queries(unit * (400_000 // len(unit)))
            assert not sql_error(unit * (400_000 // len(unit)), "Error: near a")
        from localllm.agent.checks.query_checks import findings
        from localllm.agent.checks.sql_queries import query_of
        for unit in ("1,", "1", " ", "a 1.", "|", "\\n1"):
            long = unit * (200_000 // len(unit))
            assert query_of("sqlite3 a.db", 0, long).output
            assert list(findings(query_of("sqlite3 a.db", 0, "5"), "", "how many?", long, [long])) is not None
        for unit in ("delete from a ", "update ", "update a ", "'delete from a", "sqlite3 a.db ' \\n", "<<a\\n"):
            assert query_of("sqlite3 a.db " + unit * (90_000 // len(unit)), 0, "").command
        assert only_queries("cd db;\\n  /usr/bin/sqlite3 a.db 'select 1'")
    """,
    "the line before a block": """
        from localllm.agent.checks.answer_calls import Block
        for unit in ("@", "-", "a-", "a/"):
            assert Block("x" + unit * 200_000, "bash", "ls").is_shell
    """,
    "names in source": """
        from localllm.project import file_facts
        assert file_facts._quotes('"\\\\' * 200_000, "Python") == (0, 0)
        assert file_facts._quotes("'a' 'b' 'c\\n" + '"d"', "JavaScript") == (2, 1)
        for name in ("_CAMEL", "_PASCAL", "_SNAKE"):
            assert not getattr(file_facts, name).fullmatch("Az" * 200_000 + "_")
            assert not getattr(file_facts, name).fullmatch("aZ" * 200_000 + "-")
    """,
    "a line of an answer": """
        from localllm.tui.render.rich_lines import _without_trailing_space
        assert _without_trailing_space(" " * 400_000 + "x") == " " * 400_000 + "x"
        assert _without_trailing_space("x\\x1b[0m  \\x1b[1m  ") == "x\\x1b[0m\\x1b[1m"
    """,
    "the end of an answer": """
        from localllm.text.markdown_tail import _MARKER, begins_table
        for line in (" " * 400_000 + "x", "> " * 200_000, "-" * 400_000 + "x", "-|" * 200_000 + "x", " |" * 200_000):
            assert not begins_table("|", line)
            _MARKER.match(line)
        assert all(begins_table("| a", line) for line in ("|---|:-:|\\n", "> |-|", "- | -", "--|"))
        assert [_MARKER.match(line)[0] for line in ("> - 1. a", "-- a", "  a")] == ["> - 1. ", "", "  "]
    """,
    "a page": """
        from localllm.tools.frames import tag_pattern
        tag = tag_pattern("web_content")
        assert tag.sub("-", " " * 400_000 + "x") == " " * 400_000 + "x"
        assert tag.sub("-", "a < / web_content > b, web_content, <web_content>") == "a - b,-, -"
    """,
    "notes of a project": """
        from localllm.llm.messages import framed_in, without_framed
        for text in ("\\n" * 400_000 + "x", "<project-notes>\\n" * 25_000, "</project-notes>\\n" * 25_000):
            framed_in(text)
        notes = "<project-notes>\\nb\\n</project-notes>"
        assert without_framed(f"a\\n\\n{notes}\\n\\nc") == "a\\n\\nc"
        assert framed_in(f"<project-instructions>\\n{notes}\\n{notes}") == f"{notes}\\n\\n{notes}"
    """,
    "sentences": """
        from localllm.memory.task_splitting import _SENTENCE_END
        assert not _SENTENCE_END.search("." * 400_000 + "x")
        assert [found[0] for found in _SENTENCE_END.finditer('a?! b." c. d')] == ["?! ", '." ', ". "]
    """,
    "sentences of a page": """
        from localllm.text.sentences import split_sentences
        for unit in ("?", ".", "!", '."', "? ", "?\\n", "a" * 401 + "\\n"):
            assert split_sentences("x" + unit * (60_000 // len(unit)) + "x")
        spans = split_sentences('He left?! "Why?" Yahoo!ニュース. A . 2024.[3] 見た。「行く。」と言った。')
        assert [end for _, end in spans] == [9, 16, 28, 32, 38, 45, 55]
    """,
    "blank lines of a passage": """
        from localllm.rag.answer_type import _DEFINITION
        assert not _DEFINITION.search("x" + "\\n" * 400_000 + "y")
        assert all(map(_DEFINITION.search, ("x\\n\\n  def f", "async  def f", "\\timpl A", "a => b")))
    """,
    "marks of citation": """
        from localllm.research.cited_sentences import _BEFORE_STOP, _FOREIGN, _MARK
        for pattern in (_BEFORE_STOP, _FOREIGN, _MARK):
            assert not pattern.search("x" + " \\n" * 200_000 + "y")
        assert [found[0] for found in _MARK.finditer("a  [E1] [E2](E3)")] == ["  [E1]", " [E2]", "(E3)"]
        assert [found[0] for found in _FOREIGN.finditer("a  [3] [b](c)[S2]")] == ["  [3]", "[b](c)", "[S2]"]
        assert _BEFORE_STOP.sub("", "a  . b ,") == "a. b,"
    """,
    "lists of sources": """
        from localllm.research.cited_sentences import _FOREIGN, _MARK
        assert not _MARK.search("[" + "E1 " * 100_000 + "x")
        assert not _FOREIGN.search("[" + "1,  " * 100_000 + "x")
        assert _MARK.search("a [ source : E1, E2 and E3 ].")["ids"] == "E1, E2 and E3"
        assert [_FOREIGN.sub("", text) for text in ("a [ S 1, 2 – T3 ]", "a [1]", "a [1](b)")] == ["a", "a", "a "]
    """,
    "files of git": """
        from localllm.snapshots.repository_restore import _may_be_written
        assert not _may_be_written("a/.git/" + "modules/a/" * 400 + "x")
        for at in ("", "modules/a/", "worktrees/a/", "worktrees/a/modules/b/c/", "modules/a/modules/b/worktrees/c/"):
            assert _may_be_written(f"a/.git/{at}HEAD") and not _may_be_written(f"a/.git/{at}hooks/post-commit")
    """,
    "a name on a line": """
        from localllm.agent.checks.answer_calls import _COMMENT_NAME, _INFO_NAME, _NAME_LINE, _REPLACEMENT
        for text in ("*", "-", "_", "a.", "`", " "):
            for pattern in (_COMMENT_NAME, _INFO_NAME, _NAME_LINE):
                assert not pattern.fullmatch(text * 100_000 + "!") and not pattern.fullmatch(text * 80 + "!")
        assert not _REPLACEMENT.search("<<<<<<< SEARCH\\n" + "\\n" * 100_000)
        assert [_NAME_LINE.fullmatch(line)["path"] for line in ("**File: `a/b.py`**:", "### c.py", "- d.py")] == [
            "a/b.py", "c.py", "d.py"
        ]
        assert _COMMENT_NAME.fullmatch("<!-- file: a.html -->")["path"] == "a.html"
    """,
    "lines of a document": """
        from localllm.ensemble.review_headings import _TAG
        from localllm.memory.notes import _DATED
        from localllm.rag.structure import _HEADING
        from localllm.text.markdown_blocks import FENCE
        assert not _HEADING.match("#" + " " * 400 + "x#" + " " * 400 + "y\\n\\n")
        assert [_HEADING.match(line)[2] for line in ("## a b ##", "# C#", "#  ", "# a # b")] == [
            "a b", "C", "", "a # b"
        ]
        assert not FENCE.match("~" * 100_000 + "`") and FENCE.match("~~~~py").groups() == ("~~~~", "py")
        assert not _DATED.match("2026-01-01" + " " * 100_000) and _DATED.match("(2026-01-01) : a")
        assert not _TAG.fullmatch("<" + " " * 100_000) and _TAG.fullmatch("< final answer > a")["rest"] == " a"
    """,
    "files of a project": """
        from localllm.project.file_facts import _IMPORTS
        from localllm.project.manifests.dependencies import _gemfile
        assert not _IMPORTS["Go"].search('import "' + ".a" * 100_000)
        assert _IMPORTS["Go"].findall('import x "a.com/b"\\n\\t"go.uber.org/c"') == ["a.com/b", "go.uber.org/c"]
        assert not list(_gemfile("", "gem" + " " * 100_000)) and list(_gemfile("", "gem ( 'a'")) == ["a"]
    """,
    "words of a command": """
        from localllm.safety.shell_words import _BRACE
        from localllm.safety.terminal_programs import _QUITS
        assert not _BRACE.search("{" + "," * 100_000) and _BRACE.search("a{b,c,d}")[1] == "b,c,d"
        assert not _QUITS.fullmatch("+" + " " * 100_000 + "y")
        assert all(map(_QUITS.fullmatch, ("+qa!", ":wq", "+%s/a/b/ | x")))
    """,
    "code in a command": """
        from localllm.safety.nested_commands import _CALL
        assert not _CALL.findall("_" * 400_000)
        assert _CALL.findall("os.system (x) + f(g(1))") == ["os.system", "f", "g"]
    """,
    "what direnv and mise source": """
        from localllm.sandbox.protect.sourced_files import sourced_by
        for unit in (b"a/", b"../", b"a.", b".env.", b"-"):
            assert not list(sourced_by(".envrc", unit * 100_000))
        text = b"x $PWD/.env /a/b/.env.c $(pwd)/.env a//.env ~/.env d/.env~"
        assert list(sourced_by(".envrc", text)) == ["PWD/.env", "a/b/.env.c", ".env", "d/.env"]
    """,
    "a pasted error": """
        from localllm.lookup.conversation import _PLACE
        from localllm.lookup.tracebacks import _FRAME, has_frames
        for unit in ("Zm9v/", "a", "a.", "./", "-", "a+b/c.d "):
            assert not has_frames(unit * 80_000) and not _PLACE.search(unit * 80_000)
        text = "at /x/a.py:3 (./b.js:12:4) src/.c.ts:5 ...d.rs:6 e:7"
        assert [found["other"] for found in _FRAME.finditer(text)] == ["/x/a.py", "./b.js", "src/.c.ts", "d.rs"]
        assert [_PLACE.search(said)[1] for said in ("`/x/a.py:3`", "b.js:12")] == ["x/a.py", "b.js"]
    """,
    "recipes": """
        from localllm.project.manifests.recipes import _JUST_RECIPE
        assert not _JUST_RECIPE.search("a" + " " * 400_000)
        assert _JUST_RECIPE.findall("build:\\ntest *args:\\nname := x") == ["build", "test"]
    """,
    "requirements": """
        from localllm.project.manifests.dependencies import _REQUIREMENT
        assert _REQUIREMENT.match("a" + " " * 400_000 + "!")[1] == "a"
        assert not _REQUIREMENT.match("a" + " " * 400_000 + "[")  is None
        assert [bool(_REQUIREMENT.match(line)) for line in ("a[b]>=1", "a [b]", "a", "a/b")] == [1, 1, 1, 0]
    """,
    "a command of commands": """
        from localllm.safety.rules import line_of
        for command in ("sudo " * 4_000, "eval " * 4_000, "echo " + "a[" * 50_000, f"python3 -c '{'_' * 100_000}'"):
            assert line_of(command).commands
        assert line_of("bash -c '" + "$" * 70 + "('").commands
        for command in ("sudo " * 4_000 + "rm -rf /", "a|" * 29_900, "find -exec rm " * 4_000):
            assert line_of(command).unreadable and line_of(command).danger(["rm -rf", "a"])
        assert not line_of("sudo " * 20 + "ls").unreadable
    """,
    "definitions within each other": """
        from localllm.code.outline import outline
        classes = "".join(" " * depth + f"class {'A' * 190}:\\n" for depth in range(90))
        found = outline((classes + (" " * 90 + f"def {'f' * 190}(): pass\\n") * 10_000).encode(), "python").definitions
        assert len(found) > 10_000 and max(len(one.parent) for one in found) == 1_000
    """,
    "a header": """
        from localllm.code.grammars import _CPP_HEADER
        assert not _CPP_HEADER.search(b"\\n" * 400_000)
        assert _CPP_HEADER.search(b"x\\n\\n  class A {};")
    """,
    "a body that does nothing": """
        from localllm.safety.code_loss import _body
        from localllm.code.outline import Definition
        place = Definition(kind="function", name="f", line=1, end_line=2)
        assert _body(["def f():", " " * 400_000 + "x"], place)
        assert not _body(["def f():", "    pass  # nothing"], place)
    """,
}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return faults(TRIES)


@pytest.mark.parametrize("name", TRIES)
def test_text_of_any_length_is_judged(found: dict[str, str], name: str) -> None:
    assert found[name] == ""


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 loses matches of `(…)*+` and `(…)++`; `(?>(…)*)` means the same and works."""
    source = "\n".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    assert not re.findall(r"\)(?:[*+?]|\{[0-9,]+\})\+[^\n]*", source)
