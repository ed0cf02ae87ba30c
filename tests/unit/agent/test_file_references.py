"""Files named in a request."""

from localllm.agent.steering import FileReference, find_references
from tests.support.each import each


@each(
    ("text", "found"),
    [
        ("see @src/a.py and @b.md:10-20, please", [("src/a.py", 0, 0), ("b.md", 10, 11)]),
        ("@README.md", [("README.md", 0, 0)]),
        ("line @x.py:5?", [("x.py", 5, 1)]),
        ("これ @src/あ.py を直して", [("src/あ.py", 0, 0)]),
        ("「@a.py」と（@b.py）", [("a.py", 0, 0), ("b.py", 0, 0)]),
        ("fix @a.py.", [("a.py", 0, 0)]),
        ('read @"my notes.txt" now', [("my notes.txt", 0, 0)]),
        ("twice @a.py and @a.py", [("a.py", 0, 0)]),
        ("backwards @a.py:9-3", [("a.py", 9, 1)]),
        ("mail me@example.org or a@b", []),
        ("nothing @ here", []),
        ("", []),
    ],
)
def test_references_are_found_where_a_person_means_them(text: str, found: list[tuple[str, int, int]]) -> None:
    assert find_references(text) == [FileReference(*entry) for entry in found]
