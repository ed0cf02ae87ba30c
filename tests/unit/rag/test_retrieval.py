"""Ranking: which passages are hits, in which order, over one collection and over several."""

from collections.abc import Sequence
from math import log1p

import msgspec
import pytest

from localllm.rag.query import parse_query
from localllm.rag.records import Collection, Hit, PlaceKind, Scores
from localllm.rag.retrieval import Ranked, Weights, find_candidates, is_relevant, merge_neighbours, rank
from localllm.rag.sparse_vectors import SparseVector, passage_vector
from localllm.rag.store import Legs, Payload, Point, Scored, point_id
from localllm.text.tokenising import terms

FLOOR = 0.5


class Passages:
    """Texts in memory as a Reader, found by their words as the engine finds them."""

    def __init__(self, texts: Sequence[str], kind: PlaceKind = "row") -> None:
        length = sum(len(terms(text)) for text in texts) / len(texts)
        self.points = [
            Point(
                point_id(str(number), 0),
                passage_vector(terms(text), length),
                None,
                Payload(path=f"{number:03}", file=f"{number:03}.md", hash="", number=0, text=text, kind=kind),
            )
            for number, text in enumerate(texts)
        ]

    def count(self) -> int:
        return len(self.points)

    def search(self, terms: SparseVector, vector: Sequence[float] | None, limit: int, most: int) -> Legs:
        size = len(self.points)
        holding = {one: sum(one in point.terms.indices for point in self.points) for one in terms.indices}
        rarities = {one: log1p((size - count + 0.5) / (count + 0.5)) for one, count in holding.items() if count}
        scores: list[Scored] = []
        for point in self.points:
            weights = dict(zip(*point.terms, strict=True))
            score = sum(
                asked * rarities[one] * weights[one] for one, asked in zip(*terms, strict=True) if one in weights
            )
            scores += [Scored(point.id, score)] if score else []
        return Legs(size, rarities, sorted(scores, key=lambda one: -one.score)[:limit], [])

    def fetch(self, ids: Sequence[int]) -> list[Point]:
        return [point for point in self.points if point.id in ids]


def search(query: str, *collections: Sequence[str], floor: float = FLOOR, kind: PlaceKind = "row") -> list[Hit]:
    parsed = parse_query(query)
    found = [
        find_candidates(
            Passages(texts, kind), Collection(name=f"c{at}", home="user"), parsed, None, Weights(0.0, None), 5
        )
        for at, texts in enumerate(collections)
    ]
    return merge_neighbours(rank(found, parsed, floor), 5)


OTHERS = [f"Nothing of it stands in paragraph {number} of the handbook" for number in range(30)]


def test_a_code_that_no_passage_has_finds_nothing() -> None:
    texts = [*OTHERS, "Error KZ-4012: replication failed, restart it", "Call try_lock to lock the file"]
    assert search("Error KZ-4077: replication failed", texts) == []
    assert search("does try_acquire lock the file", texts) == []
    assert [hit.text for hit in search("what is error KZ4012", texts)] == [texts[-2]]
    assert [hit.text for hit in search("KZ-4012が出て replication failed", texts)] == [texts[-2]]


def test_a_code_stands_by_itself() -> None:
    assert search("what is E07", [*OTHERS, "The number E071 is of a pump"]) == []


def test_any_one_of_the_codes_asked_for_is_enough() -> None:
    texts = [*OTHERS, "Error E2001 of the server", "Error E2002 of the server"]
    assert len(search("difference between error E2001 and E2002", texts)) == 2


def test_with_no_floor_all_that_has_a_word_is_found() -> None:
    assert len(search("Error KZ-4077", [*OTHERS, "Error KZ-4012"], floor=0.0)) == 1


def test_hits_of_two_collections_stand_in_one_order() -> None:
    """What is frequent in one collection and rare in the other is weighed alike."""
    pumps = [f"The pump {name} is blue" for name in ("alpha", "beta", "gamma", "delta", "iota", "kappa")]
    found = search("pump warranty", [*pumps, "warranty of the pump"], [*OTHERS, "A pump", "A pump of another colour"])
    assert found[0].text == "warranty of the pump"
    totals = [hit.scores.total for hit in found]
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == len({hit.scores.bm25 for hit in found})


def test_what_is_asked_about_counts_more_than_how_it_is_asked() -> None:
    texts = [f"第{number}章の概要" for number in range(30)]
    texts += ["接続がおかしいときはどうすればいいか", "フィルターの掃除は月に一度"]
    assert search("フィルターはどうすればいい", texts, floor=0.0)[0].text == texts[-1]


def test_a_word_for_which_the_passages_have_another_counts_less_than_one_they_have() -> None:
    texts = [*OTHERS, "The filter of the pump is cleaned once a month", "The tank holds water"]
    assert [hit.text for hit in search("sanitise the pump filter", texts)] == [texts[-2]]
    assert search("sanitise filter upholstery", texts) == []


def test_a_name_that_no_passage_has_finds_nothing() -> None:
    texts = [*OTHERS, "The server checks the password of a user", "サーバーがユーザーのパスワードを調べる"]
    assert [hit.text for hit in search("How does the server check the secret?", texts)] == [texts[-2]]
    assert search("How does the server check LDAP?", texts) == []
    assert search("サーバーでLDAPのユーザーを設定する", texts) == []


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("PCの電源が入らない", "パソコンの電源が入らないときはケーブルを確認する"),
        ("Excelファイルが開けない", "エクセルファイルが開けないときは拡張子を確認する"),
        ("Wi-Fiに接続できない", "無線に接続できない場合は再起動する"),
        ("PCの持ち出し", "端末の持ち出しは申請が必要"),
        ("Can I work from home on Monday?", "Staff may work from home two days a week"),
        ("Annual Leave Carry Over", "Up to five days of annual leave may be carried into the next year"),
        ("password reset", "Choose reset and type a new one for your account"),
    ],
)
def test_an_everyday_word_that_is_lacking_hides_no_passage(question: str, passage: str) -> None:
    texts = [*OTHERS, *(f"第{number}章の概要" for number in range(30)), passage]
    assert [hit.text for hit in search(question, texts)] == [passage]


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("When is the filter changed, and how much does it cost?", "A parking permit costs 20 euros"),
        ("reset after power failure", "Use reset to clear the form fields"),
        ("ライトが赤で点滅し、音が鳴って、止まらない", "エスカレーターが止まったら係員を呼ぶ"),
    ],
)
def test_half_of_what_is_asked_is_not_enough(question: str, passage: str) -> None:
    assert search(question, [*OTHERS, *(f"第{number}章の概要" for number in range(30)), passage]) == []


def test_what_is_told_beside_the_question_need_not_be_in_a_passage() -> None:
    texts = [*OTHERS, "Three days of paid leave are given for bereavement", "電源ボタンでブザーを止める"]
    assert [hit.text for hit in search("My neighbour is ill. How many days of paid leave?", texts)] == [texts[-2]]
    assert search("How much paid leave does an ill neighbour mean?", texts) == []
    assert [hit.text for hit in search("夜中に鳴って困っているのですが、ブザーを止めるには?", texts)] == [texts[-1]]


def test_what_has_all_words_comes_before_what_has_one_often() -> None:
    texts = [
        *OTHERS,
        "Filter filter filter filter filter.",
        "After each rinse of the filter wait until the tank is dry.",
    ]
    assert search("rinse the filter and dry the tank", texts, floor=0.0)[0].text == texts[-1]
    assert search("filter", texts, floor=0.0)[0].text == texts[-2]


def test_of_what_is_near_that_in_other_words_comes_first() -> None:
    texts = [*OTHERS, "The days of the market are in May.", "Bereavement leave is five days."]
    assert search("How many days do I get when my father dies?", texts, floor=0.0)[0].text == texts[-1]


def test_beside_a_passage_that_reaches_the_floor_others_may_be_somewhat_below_it() -> None:
    texts = [*OTHERS, "red pump motor valve", "red pump", "red paint"]
    assert [hit.text for hit in search("red pump motor valve", texts)] == texts[-3:-1]
    assert search("red pump motor valve", [*OTHERS, *["red pump"] * 3]) == []


@pytest.mark.parametrize(
    ("dense", "coverage", "unrelated", "relevant"),
    [
        (None, 0.5, 0.7, True),
        (None, 0.49, 0.0, False),
        (0.8, 0.0, 0.7, True),
        (0.79, 0.0, 0.7, False),
        (0.76, 0.4, 0.0, True),
        (0.76, 0.4, 0.7, False),  # of a model whose vectors all lie close together most of the cosine says nothing
        (0.79, 0.4, 0.7, True),
        (0.79, 0.4, 0.9, False),
    ],
)
def test_words_and_meaning_together_make_a_passage_relevant(
    dense: float | None, coverage: float, unrelated: float, relevant: bool
) -> None:
    scores = Scores(1.0, dense=dense, coverage=coverage)
    assert is_relevant(scores, FLOOR, Weights(0.5, 0.8, unrelated)) is relevant
    assert is_relevant(scores, FLOOR, Weights(0.5, None)) is (coverage >= FLOOR)


def test_a_title_counts_beside_the_text() -> None:
    """Two passages have the words alike; one stands under them."""
    reader = Passages([*OTHERS, "lock the file", "lock the file"])
    last = reader.points[-1]
    reader.points[-1] = last._replace(payload=msgspec.structs.replace(last.payload, headings=("File lock",)))
    query = parse_query("file lock")
    found = find_candidates(reader, Collection(name="c", home="user"), query, None, Weights(0.0, None), 5)
    assert rank([found], query, FLOOR)[0].payload.path == reader.points[-1].payload.path


def test_passages_that_follow_each_other_are_one_without_what_is_repeated() -> None:
    def passage(number: int, text: str) -> Ranked:
        payload = Payload(path="a", file="a.md", hash="", number=number, text=text)
        return Ranked(Collection(name="c", home="user"), payload, Scores(1.0))

    first, second, third = passage(0, "One. Two. To be"), passage(1, "Two. To be\n\nThree."), passage(2, "Four.")
    assert [hit.text for hit in merge_neighbours([second, first], 5)] == ["One. Two. To be\n\nThree."]
    assert [hit.text for hit in merge_neighbours([second, third], 5)] == ["Two. To be\n\nThree.\n\nFour."]
    assert len(merge_neighbours([first, third], 5)) == 2
    rows = [passage(0, "| a | b |"), passage(1, "| c | d |")]
    assert [hit.text for hit in merge_neighbours(rows, 5)] == ["| a | b |\n\n| c | d |"]


LEAVE = "Employees get 25 days of annual leave. Up to five of them may be carried over to the next year."


@pytest.mark.parametrize("others", [[], ["Connect to the VPN with the client. The password expires."], OTHERS])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_document_that_is_there_twice_is_found_as_one_that_is_there_once(others: list[str], copies: int) -> None:
    texts = [*others, *[LEAVE] * copies]
    for query in ("How many vacation days do employees get?", "What is the leave policy?", "unused leave carried over"):
        assert [hit.text for hit in search(query, texts, kind="lines")] == [LEAVE] * copies
    assert search("Is unused leave paid out to contractors?", texts, kind="lines") == []


def test_two_versions_of_a_document_are_found_as_one() -> None:
    versions = [LEAVE, LEAVE.replace("25", "26")]
    assert {hit.text for hit in search("How many vacation days do employees get?", versions, kind="lines")} == {
        *versions
    }
