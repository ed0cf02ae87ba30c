"""What a merge leaves in files."""

from localllm.text.conflict_markers import left_markers, lost_side, marker_lines, sides
from tests.support.each import each

CONFLICT = "a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> discount\nz\n"
WITH_BASE = "<<<<<<< HEAD\nours\n||||||| base\nold\n=======\ntheirs\n>>>>>>> x\n"
HEADED = f"Title\n=======\n\n{CONFLICT}"


@each(
    ("text", "lines"),
    [
        (CONFLICT, [2, 6]),
        (WITH_BASE, [1, 3, 7]),
        (CONFLICT.replace("\n", "\r\n"), [2, 6]),
        ("<<<<<<<\n>>>>>>>", [1, 2]),
        ("Title\n=======\n", []),
        (" <<<<<<< a\n<<<<<<<< b\n<<<<<<<c\ncat <<<<<<< d\n", []),
        ("", []),
    ],
)
def test_the_lines_that_begin_and_end_a_conflict(text: str, lines: list[int]) -> None:
    assert marker_lines(text) == lines


@each(
    ("old", "new", "lines"),
    [
        (CONFLICT, "a\nours\n>>>>>>> discount\nz\n", [3]),
        (CONFLICT, "a\n<<<<<<< HEAD\nours\nz\n", [2]),
        (CONFLICT, "a\nours\n=======\ntheirs\nz\n", [3]),
        (CONFLICT, "a\nours\nz\n", []),
        (CONFLICT, CONFLICT.replace("ours", "hers"), []),
        (CONFLICT + CONFLICT, "a\nours\nz\n" + CONFLICT, [5, 9]),
        (WITH_BASE, "ours\n||||||| base\nold\n", [2]),
        (HEADED, "Title\n=======\n\na\nours\nz\n", []),
        (HEADED, "Title\n=======\n\na\nours\n=======\ntheirs\nz\n", [2, 6]),
        ("a\n", CONFLICT, []),
        ("Title\n=======\n", "Title\n=======\nNext\n=======\n", []),
    ],
)
def test_what_is_left_of_a_conflict_that_an_edit_resolves_in_part(old: str, new: str, lines: list[int]) -> None:
    assert left_markers(old, new) == lines


@each(
    ("text", "versions"),
    [
        (CONFLICT, ("a\nours\nz\n", "a\ntheirs\nz\n")),
        (WITH_BASE, ("ours\n", "theirs\n")),
        (HEADED, ("Title\n=======\n\na\nours\nz\n", "Title\n=======\n\na\ntheirs\nz\n")),
        (f"{CONFLICT}{CONFLICT}", ("a\nours\nz\n" * 2, "a\ntheirs\nz\n" * 2)),
        (CONFLICT.replace("\n", "\r\n"), ("a\r\nours\r\nz\r\n", "a\r\ntheirs\r\nz\r\n")),
        ("Title\n=======\n", None),
        ("a\n<<<<<<< HEAD\nours\n=======\ntheirs\n", None),
        (">>>>>>> x\n", None),
        ("<<<<<<< a\n<<<<<<< b\n=======\n>>>>>>> b\n", None),
    ],
)
def test_the_sides_of_a_conflict(text: str, versions: tuple[str, str] | None) -> None:
    assert sides(text) == versions


@each(
    ("old", "new", "lost"),
    [
        (CONFLICT, "a\nours\nz\n", ["theirs"]),
        (CONFLICT, "a\ntheirs\nz\n", ["ours"]),
        (CONFLICT, "a\nours\ntheirs\nz\n", []),
        (CONFLICT, "a\nours and theirs\nz\n", []),
        (CONFLICT, "a\nz\n", []),
        (CONFLICT, CONFLICT, []),
        (CONFLICT, "a\nours\n=======\ntheirs\nz\n", []),
        ("ours\n=======\ntheirs\nmore\n>>>>>>> x\n", "ours\n", ["theirs", "more"]),
        (WITH_BASE, "ours\n", ["theirs"]),
        (CONFLICT.replace("\n", "\r\n"), "a\r\nours\r\nz\r\n", ["theirs"]),
        ("a\n", "b\n", []),
    ],
)
def test_a_side_that_is_lost(old: str, new: str, lost: list[str]) -> None:
    assert lost_side(old, new) == lost
