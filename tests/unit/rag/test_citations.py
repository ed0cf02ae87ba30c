"""References in an answer: what points to a passage stays, what points nowhere goes."""

import msgspec

from localllm.rag.citations import check_citations, references_in, sentences_with_citations, uncited_sentences
from localllm.rag.records import Hit, Place, Scores
from tests.support.each import each


def hit(file: str, kind: str = "lines", first: int = 0, last: int = 0, headings: tuple[str, ...] = ()) -> Hit:
    place = Place(kind, first, last)  # type: ignore[arg-type]
    return Hit(collection="c", path=f"/x/{file}", file=file, text="t", headings=headings, place=place, scores=Scores(1))


HITS = [
    hit("docs/setup.md", "lines", 10, 24),
    hit("manual v2.pdf", "page", 3, 4),
    hit("faq.csv", "row", 12, 12),
    hit("規則/休暇.md", "lines", 1, 9),
    hit("rules.docx", "heading", headings=("Rules", "Annual Leave", "Notes on row 3")),
    msgspec.structs.replace(hit("sales.xlsx", headings=("五月 売上",)), place=Place("row", 3, 3, "五月 売上")),
]

KEPT = [
    "It is so [docs/setup.md:10-24].",
    "It is so [docs/setup.md:12].",
    "It is so [setup.md:12-13].",
    "It is so [docs/setup.md lines 12-13].",
    "It is so [docs/setup.md, line 10].",
    "It is so [docs/setup.md#L12-L13].",
    "It is so [docs/setup.md:10-12, 20; manual v2.pdf p.3, 4].",
    "休暇は十日です［規則/休暇.md:3、5-6］。",
    "It is so [Docs/Setup.md].",
    "It is so (docs/setup.md:11).",
    "It is so in docs/setup.md:24.",
    "It is so [manual v2.pdf p.3].",
    "It is so [manual v2.pdf, page 4].",
    "It is so [faq.csv row 12].",
    "休暇は十日です［規則/休暇.md:3］。",
    "休暇は十日です【規則/休暇.md:3-9】。",
    "It is so [rules.docx § Annual leave].",
    "It is so [rules.docx § Notes on row 3].",
    "It is so [sales.xlsx § 五月 売上 row 3].",
    "It is so [sales.xlsx § 五月 売上, row 3].",
    "It is so [sales.xlsx § 五月 売上].",
    "It is so [sales.xlsx row 3].",
    "It is so [docs/setup.md:10-24; faq.csv row 12].",
    "It is so [docs/setup.md:10-24, faq.csv row 12].",
    "An array a[0] and a [note] and [a link](http://x.example/a.md:3) stay.",
    "The year [2024] stays, and [1, 2] and [docs, 3].",
]


@each("answer", KEPT)
def test_what_points_to_a_passage_stays(answer: str) -> None:
    assert check_citations(answer, HITS) == (answer, (), check_citations(answer, HITS).cited)


GONE = [
    ("It is so [docs/setup.md:25].", "It is so."),
    ("It is so [docs/setup.md:1-30].", "It is so."),
    ("It is so [docs/setup.md lines 80-90].", "It is so."),
    ("It is so [docs/setup.md, line 9].", "It is so."),
    ("It is so [docs/setup.md#L9].", "It is so."),
    ("It is so [docs/setup.md:10-12, 90].", "It is so [docs/setup.md:10-12]."),
    ("It is so [docs/setup.md:9, 10-12].", "It is so [docs/setup.md:10-12]."),
    ("休暇は十日です［規則/休暇.md:3、50］。", "休暇は十日です[規則/休暇.md:3]。"),
    ("It is so [other.md:10-24].", "It is so."),
    ("It is so [tup.md:12].", "It is so."),
    ("It is so [manual v2.pdf p.5].", "It is so."),
    ("It is so [docs/setup.md p.12].", "It is so."),
    ("It is so (other.md:3).", "It is so."),
    ("It is so `other.md:3`.", "It is so."),
    ("It is so [rules.docx § Sick leave].", "It is so."),
    ("It is so [sales.xlsx § 六月 売上 row 3].", "It is so."),
    ("It is so [sales.xlsx § 五月 売上 row 4].", "It is so."),
    ("休暇は十日です［規則/給与.md:3］。", "休暇は十日です。"),
    ("It is so [docs/setup.md:10-24; other.md:3].", "It is so [docs/setup.md:10-24]."),
]


@each(("answer", "left"), GONE)
def test_what_points_nowhere_goes(answer: str, left: str) -> None:
    checked = check_citations(answer, HITS)
    assert checked.text == left
    assert len(checked.removed) == 1


def test_what_points_nowhere_is_named_once_however_it_is_spelt() -> None:
    checked = check_citations("A [`other.md:3-4`]. B [other.md:3–4]. C **[other.md:3-4]**, other.md:3-4.", HITS)
    assert checked.removed == ("other.md:3-4",)


def test_each_place_of_a_file_is_compared() -> None:
    checked = check_citations("A [faq.csv row 12; docs/setup.md:12, 20] and [docs/setup.md lines 11-13].", HITS)
    assert [one.file for one in checked.cited] == ["faq.csv", "docs/setup.md"]
    assert references_in("A [a.md:3-4, 9; b.pdf p.2, 5].") == ["a.md:3-4", "a.md:9", "b.pdf p.2", "b.pdf p.5"]


def test_what_is_cited_is_known_once() -> None:
    checked = check_citations("A [docs/setup.md:10-24]. B [setup.md:11]. C [faq.csv row 12].", HITS)
    assert [one.file for one in checked.cited] == ["docs/setup.md", "faq.csv"]


def test_without_passages_every_reference_points_nowhere() -> None:
    assert check_citations("So [docs/setup.md:10]. And [x.py:3-4].", []).text == "So. And."


@each(
    ("answer", "count"),
    [
        ("The pump lasts two years [docs/setup.md:12]. It is built of steel and brass.", (1, 2)),
        ("The pump lasts two years. [docs/setup.md:12] It is built of steel. [faq.csv row 12]", (0, 2)),
        ("休暇は年に十日です［規則/休暇.md:3］。社長の承認があれば増やせます。", (1, 2)),
        ("Yes.\n\n- The pump lasts two years [docs/setup.md:12].\n- Shall I look for more of it?", (0, 1)),
    ],
)
def test_statements_without_a_reference_are_counted(answer: str, count: tuple[int, int]) -> None:
    assert uncited_sentences(answer, HITS) == count


def test_a_reference_with_a_number_that_no_file_has_is_taken_out() -> None:
    number = "9" * 5_000
    for written in (f"[faq.csv row {number[:300]}]", f"docs/setup.md:{number}", f"docs/setup.md:10-{number}"):
        checked = check_citations(f"It is so {written} indeed.", HITS)
        assert (checked.cited, checked.text) == ((), "It is so indeed.")


PASSAGES = [hit("rules.md", first=3, last=4, headings=("Travel", "Nights"))]
COPIES = [
    "[rules.md:3-4] c › Travel › Nights\nA night costs up to 12,000 yen. The allowance is 2,500 yen a day.",
    "A night costs up to 12,000 yen. [rules.md:3-4] c › Travel › Nights",
    "A night costs up to 12,000 yen [rules.md:3-4] c › Travel › Nights.",
    "【rules.md:3-4】 c › Travel › Nights\n一泊は12,000円までである。手当は一日2,500円である。\n",
]


@each("answer", COPIES)
def test_the_place_of_a_copied_passage_is_no_part_of_the_answer(answer: str) -> None:
    checked = check_citations(answer, PASSAGES)
    assert "Travel" not in checked.text
    assert checked.cited == tuple(PASSAGES)
    assert uncited_sentences(checked.text, PASSAGES)[0] == 0
    assert all(cited for text, cited in sentences_with_citations(answer, PASSAGES) if text.strip(" \n.。"))


def test_what_stands_below_another_paragraph_has_no_reference() -> None:
    text = "[rules.md:3-4]\nA night costs 12,000 yen.\n\nThe allowance is 2,500 yen a day."
    assert uncited_sentences(text, PASSAGES) == (1, 2)
    assert "› Travel" in check_citations("See c › Travel › Nights [rules.md:3-4].", PASSAGES).text
