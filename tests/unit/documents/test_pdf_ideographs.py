"""Tables of glyphs with radicals put right, all others as they were."""

import pytest

from localllm.documents.pdf_ideographs import right_table, with_ideographs
from tests.support.pdfs import make_pdf

HEAD = "begincmap\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
TAIL = "endcmap\nend\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "2 beginbfchar\n<92> <767A>\n<97> <2F54>\nendbfchar\n",
            "2 beginbfchar\n<92> <767A>\n<97> <6C34>\nendbfchar\n",
        ),
        ("1 beginbfchar\n<01> <2ED1>\nendbfchar\n", "1 beginbfchar\n<01> <9577>\nendbfchar\n"),
        ("1 beginbfrange\n<0A> <0B> <2F00>\nendbfrange\n", "2 beginbfchar\n<0A> <4E00>\n<0B> <4E28>\nendbfchar\n"),
        (
            "1 beginbfchar\n<01> <2F54>\nendbfchar\n1 beginbfrange\n<0E> <10> <3041>\nendbfrange\n",
            "4 beginbfchar\n<01> <6C34>\n<0E> <3041>\n<0F> <3042>\n<10> <3043>\nendbfchar\n",
        ),
        ("1 beginbfchar\n<01> <D83DDE00>\nendbfchar\n", "1 beginbfchar\n<01> <D83DDE00>\nendbfchar\n"),
        ("1 beginbfrange\n<01> <05> <0041>\nendbfrange\n", "1 beginbfrange\n<01> <05> <0041>\nendbfrange\n"),
    ],
)
def test_radicals_become_ideographs(given: str, expected: str) -> None:
    assert right_table(HEAD + given + TAIL) == HEAD + expected + TAIL


def test_long_tables_are_divided() -> None:
    lines = "".join(f"<{number:02X}> <{0x4E00 + number:04X}>\n" for number in range(150)) + "<FF> <2F54>\n"
    right = right_table(f"{HEAD}151 beginbfchar\n{lines}endbfchar\n{TAIL}")
    assert right.count("100 beginbfchar\n") == right.count("51 beginbfchar\n") == 1
    assert right.count("\n<") == 152


def test_a_pdf_without_them_is_not_touched() -> None:
    data = make_pdf("Hello")
    assert with_ideographs(data) is data
