"""Two changes of one text are put together, or it is said that they contradict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localllm.snapshots.undo import merged

BASE = b"a\nb\nc\nd\ne\n"


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        pytest.param(b"a\nB\nc\nd\ne\n", b"a\nb\nc\nd\nE\n", b"a\nB\nc\nd\nE\n", id="far from each other"),
        pytest.param(b"a\nb\nc\nd\ne\nf\n", b"b\nc\nd\ne\n", b"b\nc\nd\ne\nf\n", id="added and deleted at the ends"),
        pytest.param(b"a\nX\nd\ne\n", b"a\nX\nd\ne\n", b"a\nX\nd\ne\n", id="the same change"),
        pytest.param(BASE, b"other\n", b"other\n", id="only one has changed it"),
        pytest.param(b"a\r\nb\nc\nd\ne\n", b"a\nb\nc\nd\n\xff\xfe\n", b"a\r\nb\nc\nd\n\xff\xfe\n", id="any bytes"),
        pytest.param(b"a\nb\nc\nd\ne", b"A\nb\nc\nd\ne\n", b"A\nb\nc\nd\ne", id="no newline at the end"),
    ],
)
def test_changes_of_different_lines_are_both_made(one: bytes, other: bytes, both: bytes) -> None:
    assert merged(BASE, one, other) == both
    assert merged(BASE, other, one) == both


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        pytest.param(b"a\nb\nd\ne\n", b"a\nb\nc\nnew\nd\ne\n", b"a\nb\nnew\nd\ne\n", id="added after what is deleted"),
        pytest.param(b"a\nb\nd\ne\n", b"a\nb\nnew\nc\nd\ne\n", b"a\nb\nnew\nd\ne\n", id="added before what is deleted"),
    ],
)
def test_in_a_list_a_neighbour_may_be_deleted(one: bytes, other: bytes, both: bytes) -> None:
    assert merged(BASE, one, other, is_list=True) == both
    assert merged(BASE, other, one, is_list=True) == both
    assert merged(BASE, one, other) is None


def test_neighbouring_items_of_a_list_may_both_be_changed() -> None:
    base, one, other = b"- [ ] a\n- [ ] b\n", b"- [x] a\n- [ ] b\n", b"- [ ] a\n- [x] b\n"
    assert merged(base, one, other, is_list=True) == b"- [x] a\n- [x] b\n" == merged(base, other, one, is_list=True)
    assert merged(base, one, other) is None
    assert merged(base, b"- [x] a\n- [x] new\n- [ ] b\n", other, is_list=True) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(b"a\nX\nc\nd\ne\n", b"a\nY\nc\nd\ne\n", id="the same line, each in its way"),
        pytest.param(b"a\nX\nc\nd\ne\n", b"a\nb\nY\nd\ne\n", id="neighbouring lines"),
        pytest.param(b"a\nb\nX\nc\nd\ne\n", b"a\nb\nY\nc\nd\ne\n", id="different lines at the same place"),
        pytest.param(b"a\ne\n", b"a\nb\nX\nd\ne\n", id="changed within what is deleted"),
        pytest.param(b"a\nb\nc\nd\ne\n\0", b"A\nb\nc\nd\ne\n", id="no text"),
        pytest.param(BASE + b"\n" * 50_000, b"A\nb\nc\nd\ne\n", id="too long by now"),
    ],
)
def test_changes_that_contradict_are_not_made(one: bytes, other: bytes) -> None:
    assert merged(BASE, one, other, is_list=True) is None
    assert merged(BASE, other, one, is_list=True) is None


_TEXTS = st.lists(st.sampled_from("abcxyz"), max_size=12).map(lambda lines: "\n".join(lines).encode())


@given(_TEXTS, _TEXTS, _TEXTS)
def test_nothing_of_either_is_lost_or_made_up(base: bytes, one: bytes, other: bytes) -> None:
    both = merged(base, one, other, is_list=True)
    assert both == merged(base, other, one, is_list=True)
    assert merged(base, one, other) in (None, both)
    assert merged(base, one, base) == one
    assert merged(base, one, one) == one
    if both is not None:
        for line in {*one.split(b"\n"), *other.split(b"\n")} - {*base.split(b"\n")}:
            assert line in both.split(b"\n")
