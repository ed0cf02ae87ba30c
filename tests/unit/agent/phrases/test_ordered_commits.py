"""The files that a request orders to commit by their names."""

from localllm.agent.phrases.ordered_commits import files_to_commit, is_ordered
from tests.support.each import each


@each(
    ("request_", "files"),
    [
        ("Commit only README.md with message 'Docs'", ["README.md"]),
        ("Commit just `docs/a.md` and docs/b.md.", ["docs/a.md", "docs/b.md"]),
        ("Commit README.md as 'Docs', leave shop/tax.py uncommitted", ["README.md"]),
        ("Fix the typo in README.md, then commit README.md", ["README.md"]),
        ("Please commit the changes in shop/tax.py only", ["shop/tax.py"]),
        ("Commit the docs/ folder with the message 'Docs'", ["docs/"]),
        ("README.md だけをコミットして。メッセージは Docs", ["README.md"]),
        ("README.md のみコミットしてください", ["README.md"]),
        ("README.md と CHANGES.md をコミットして", ["README.md", "CHANGES.md"]),
        ("tax.py の変更をコミットして", ["tax.py"]),
        ("Commit just the README with message 'Docs'", ["README.md"]),
        ("README だけコミットして", ["README.md"]),
    ],
)
def test_files_that_are_to_be_committed(request_: str, files: list[str]) -> None:
    assert files_to_commit(request_) == files


@each(
    "request_",
    [
        "Commit everything with the message 'Update README.md'",
        "Fix the typo in README.md and commit",
        "Fix README.md and commit it",
        "Commit README.md and the tests",
        "Commit README.md and LICENSE",
        "Commit README.md, then fix tax.py and commit that too",
        "Commit the changes; README.md describes them",
        "Don't commit README.md",
        "Commit everything but the README",
        "Commit with the README as it is",
        "Should I commit README.md?",
        "If the tests pass, commit README.md",
        "README.md を直してコミットして",
        "README.md はコミットしないで",
        "README.md をコミットしたら、tax.py もコミットして",
        "README.md をコミットメッセージの例に合わせて直して",
        "What does the last commit change in README.md?",
    ],
)
def test_others_may_be_committed_too(request_: str) -> None:
    assert files_to_commit(request_) == []


@each(
    ("path", "ordered", "is_one"),
    [
        ("README.md", ["README.md"], True),
        ("README.rst", ["README.md"], True),
        ("README", ["README.md"], True),
        ("docs/CHANGELOG", ["README.md"], False),
        ("tax.rst", ["tax.md"], False),
        ("src/a.py", ["src/"], True),
    ],
)
def test_a_document_may_have_another_ending(path: str, ordered: list[str], is_one: bool) -> None:
    assert is_ordered(path, ordered) == is_one
