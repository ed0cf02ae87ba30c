"""Copies are told from other articles of the same site, in English and in Japanese. The texts are generated."""

import random
import time
from collections.abc import Callable

import pytest

from localllm.text.near_duplicates import SIZE, counterpart, is_near_duplicate, resemblance, signature
from tests.support.each import each

WORDS = [
    a + b
    for a in ("ta", "re", "mi", "so", "ku", "na", "li", "po", "ve", "da")
    for b in ("n", "rk", "st", "ll", "ve", "")
]
KANJI = "潮汐海面月満干港湾観測予報気象庁年平均水位標高地震津波防波堤漁業船舶航路基準測量計算結果報告"
KANA = "のはがをにでともからまでよりへやし"


def english(seed: int, sentences: int) -> str:
    chance = random.Random(seed)
    made: list[str] = []
    for _ in range(sentences):
        words = [chance.choice(WORDS) for _ in range(chance.randint(8, 18))]
        made.append(" ".join([*words, str(chance.randint(2, 9_999))]).capitalize() + ".")
    return " ".join(made)


def japanese(seed: int, sentences: int) -> str:
    chance = random.Random(seed)

    def phrase() -> str:
        return "".join(chance.choices(KANJI, k=chance.randint(1, 3))) + chance.choice(KANA)

    return "".join(
        "".join(phrase() for _ in range(8)) + f"{chance.randint(2, 9_999)}である。" for _ in range(sentences)
    )


MENU = {
    "en": "\n".join(
        ["Home", "News", "Sports", "About us", "Contact", "Sign in", "Subscribe", "Most read", "Weather"] * 4
    ),
    "ja": "\n".join(
        ["ホーム", "ニュース", "スポーツ", "会社概要", "お問い合わせ", "ログイン", "天気", "人気の記事"] * 4
    ),
}
FOOTER = {
    "en": "All rights reserved. Reproduction of this page without permission is prohibited. Read our privacy policy.",
    "ja": "無断転載を禁じます。著作権は当社に帰属します。個人情報の取り扱いについてはこちらをご覧ください。",
}
MAKERS: dict[str, Callable[[int, int], str]] = {"en": english, "ja": japanese}

languages = pytest.mark.parametrize("language", ["en", "ja"])
seeds = pytest.mark.parametrize("seed", range(20))


def page(language: str, seed: int, sentences: int) -> str:
    return f"{MENU[language]}\n{MAKERS[language](seed, sentences)}\n{FOOTER[language]}"


def are_copies(a: str, b: str) -> bool:
    return is_near_duplicate(signature(a), signature(b))


@languages
@seeds
@pytest.mark.parametrize("sentences", [6, 30, 300])
def test_a_mirror_with_one_number_changed_is_a_copy(language: str, seed: int, sentences: int) -> None:
    text = page(language, seed, sentences)
    numbers = [part for part in text.replace("。", " ").replace(".", " ").split() if part.isdigit()]
    number = numbers[0] if numbers else next(one for one in ("1", "2", "3", "4") if one in text)
    altered = text.replace(number, "31415", 1)
    assert altered != text
    assert are_copies(text, altered)


@languages
@seeds
@pytest.mark.parametrize("sentences", [5, 10, 60])
def test_other_articles_of_one_site_are_none(language: str, seed: int, sentences: int) -> None:
    assert not are_copies(page(language, seed, sentences), page(language, 1_000 + seed, sentences))


@languages
@seeds
def test_a_press_release_is_one_under_any_header_and_footer(language: str, seed: int) -> None:
    make = MAKERS[language]
    release = make(seed, 16)
    here = f"{MENU[language]}\n{make(500 + seed, 1)}\n{release}\n{make(600 + seed, 2)}\n{FOOTER[language]}"
    there = f"PR TIMES\n{make(700 + seed, 1)}\n{release}\n{make(800 + seed, 1)}"
    assert are_copies(here, there)
    assert are_copies(release, there)


@languages
def test_a_quotation_makes_no_copy(language: str) -> None:
    make = MAKERS[language]
    quoted = make(1, 3)
    assert not are_copies(f"{make(2, 12)}\n{quoted}\n{make(3, 5)}", f"{make(4, 9)}\n{quoted}\n{make(5, 8)}")


def test_spelling_of_characters_and_lines_do_not_count() -> None:
    text = japanese(7, 20) + " " + english(7, 20)
    wide = text.translate({code: code + 0xFEE0 for code in range(ord("0"), ord("9") + 1)}).upper()
    assert are_copies(text, wide.replace("。", "。\n"))


def test_texts_of_short_lines_are_compared_whole() -> None:
    table = "\n".join(f"row {number} {number * number}" for number in range(100))
    other = "\n".join(f"row {number} {number * 7}" for number in range(100))
    assert are_copies(table, table + "\nrow 100 10000")
    assert not are_copies(table, other)


def test_without_words_there_is_no_signature_and_no_copy() -> None:
    assert signature(" \n…！？") == ()
    assert not is_near_duplicate((), ())
    assert not is_near_duplicate((), signature("words"))
    assert are_copies("same", "Same")
    assert not are_copies("same", "other")


def test_the_estimate_is_near_the_share_in_common() -> None:
    common, one, other = (english(seed, 400) for seed in (1, 2, 3))
    estimate = resemblance(signature(common + one), signature(common + other))
    assert 0.33 - 0.12 < estimate < 0.33 + 0.12
    assert len(signature(common)) == SIZE


def test_twice_the_text_takes_about_twice_the_time() -> None:
    def seconds(sentences: int) -> float:
        text = english(1, sentences) + japanese(1, sentences)
        began = time.process_time()
        signature(text)
        return time.process_time() - began

    seconds(10)
    assert seconds(4_000) < 24 * max(seconds(500), 0.005)


@each(
    ("sentence", "expected"),
    [
        ("The tower opened in 1998.", "The tower opened in 1989."),
        ("必要な経費は年間6億8千万円と見込まれる。", "必要な経費は年間8億6千万円と見込まれる。"),
        ("It cost 61 million.", "It cost 16 million."),
        ("Cats like the garden.", "Cats like the garden."),
        ("Nobody has ever said this of it.", ""),
        ("1998, 61.", ""),
    ],
)
def test_a_copy_has_a_sentence_also_with_other_numbers(sentence: str, expected: str) -> None:
    copy = (
        "Cats like the garden. The tower opened in 1989. It cost 16 million. 必要な経費は年間8億6千万円と見込まれる。"
    )
    span = counterpart(sentence, copy)
    assert (copy[span.start : span.end].strip() if span else "") == expected
