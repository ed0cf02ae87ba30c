"""The terms a text is found by: words, identifiers, Japanese."""

import pytest

from localllm.text.tokenising import terms
from tests.support.each import each


@each(
    ("text", "expected"),
    [
        ("The connections of a server", ["connect", "server"]),
        ("don't, it's, hasn't", []),
        ("Ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]),
        ("Crème brûlée", ["crème", "brûlée"]),
        ("port 8080, utf8, sha256", ["port", "8080", "utf8", "sha256"]),
        ("fetch_pages", ["fetch_pages", "fetch", "page"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("getURLs", ["geturl", "get", "url"]),
        ("PDFs", ["pdf"]),
        ("__init__", ["init"]),
        ("isOpen", ["isopen", "open"]),
        ("x" * 65, []),
        ("", []),
    ],
)
def test_words_and_identifiers(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("メモリ", ["メモリ", "メモ", "モリ"]),
        ("ﾃｽﾄ", ["テスト", "テス", "スト"]),
        ("です", []),
        ("らーめん", ["らーめ", "ーめん"]),
        ("設定を3回", ["設", "定", "設定", "3", "回"]),
        ("Pythonで", ["python"]),
        ("설정", ["설정"]),
    ],
)
def test_japanese_and_korean(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"), [("サーバーの設定", "サーバの設定"), ("コンピューター", "コンピュータ"), ("ﾕｰｻﾞｰ", "ユーザ")]
)
def test_a_long_vowel_at_the_end_of_a_word_may_be_left_out(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ルビー", "ルビ"), ("ビール", "ビル"), ("キー", "キ"), ("らーめん", "らめん")]
)
def test_a_long_vowel_that_makes_another_word_stays(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_spelling_of_an_identifier_does_not_matter() -> None:
    assert all("repo" in terms(spelling) for spelling in ("repoMap", "repo_map", "RepoMap", "repo-map", "Repo map"))
    assert terms("GitHub")[0] == terms("github")[0]
