"""From a question to what is searched for."""

import pytest

from localllm.lookup.terms import Term, terms_of


def ways(term: Term) -> set[str]:
    return {"_".join(way.words) for way in term.ways}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("where is the retry logic?", ["retry"]),
        ("Which file handles gzip compression?", ["gzip", "compression"]),
        ("when does the time zone change", ["time zone", "change"]),
        ("why doesn't it reconnect", ["reconnect"]),
        ("再試行の処理はどこ？", ["再試行"]),
        ("認証はどこで行われている？", ["認証"]),
        ("セッションクッキーの有効期限", ["セッション", "クッキー", "有効期限"]),
        ("ＣＳＲＦトークンの検証", ["CSRF", "トークン", "検証"]),
        ("get_user を使う設定", ["get_user", "設定"]),
    ],
)
def test_the_words_of_a_question(question: str, words: list[str]) -> None:
    assert [term.text for term in terms_of(question)] == words


def test_a_word_stands_for_those_code_uses() -> None:
    assert ways(terms_of("try again")[0]) >= {"try_again", "retry", "backoff"}
    assert ways(terms_of("再試行")[0]) >= {"retry", "backoff"}


def test_common_words_are_soft_and_so_are_those_of_the_project() -> None:
    terms = {term.text: term.soft for term in terms_of("payment information of shop", known=frozenset({"shop"}))}

    assert terms == {"payment": False, "information": True, "shop": True}


def test_what_is_said_in_both_languages_is_one_term() -> None:
    assert [term.text for term in terms_of("ヒープの統計 (heap statistics)")] == ["ヒープ", "統計"]


def test_unknown_japanese_is_looked_for_as_it_is_in_pairs() -> None:
    (term,) = terms_of("薔薇窓はどこ？")

    assert ways(term) == {"薔薇_薇窓"}


def test_an_identifier_is_one_term_and_its_words_count_less() -> None:
    (term,) = terms_of("fetchPageTwice")

    assert [(way.words, way.weight < 1) for way in term.ways] == [
        (("fetch", "page", "twice"), False),
        (("fetch",), True),
        (("page",), True),
        (("twice",), True),
    ]
