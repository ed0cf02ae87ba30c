"""What a path tells of a file."""

from localllm.lookup.file_kinds import file_kind, is_secret, worth
from tests.support.each import each


@each(
    ("path", "kind"),
    [
        ("src/a.py", "source"),
        ("src/tests/a.py", "test"),
        ("test_a.py", "test"),
        ("web/a.spec.ts", "test"),
        ("docs/a.py", "document"),
        ("README", "document"),
        ("vendor/a.go", "vendored"),
        ("a/migrations/0001.py", "generated"),
        ("a.min.js", "generated"),
        ("locale/ja.js", "data"),
        (".env", "secret"),
        ("docs/id_rsa", "secret"),
        ("a/server.PEM", "secret"),
        (".env.example", "source"),
    ],
)
def test_kinds(path: str, kind: str) -> None:
    assert file_kind(path) == kind
    assert is_secret(path) == (kind == "secret")


def test_the_program_is_worth_more_than_its_tests_unless_they_are_asked_for() -> None:
    assert worth("src/a.py") > worth("docs/a.md") > worth("vendor/a.py")
    assert worth("tests/a.py", "test") > worth("src/a.py", "test")
