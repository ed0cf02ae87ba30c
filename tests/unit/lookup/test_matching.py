"""How well words fit each other, names and texts."""

import pytest

from localllm.lookup.matching import name_fit, parts_of, prepare, text_fit, word_fit
from localllm.lookup.terms import terms_of


@pytest.mark.parametrize(
    ("wanted", "word"),
    [("retry", "retries"), ("upload", "uploadhandler"), ("prime", "isprime"), ("slug", "slugify"), ("auth", "auth")],
)
def test_words_that_fit(wanted: str, word: str) -> None:
    assert word_fit(wanted, word) >= 0.8


@pytest.mark.parametrize(
    ("wanted", "word"),
    [("cart", "cartesian"), ("stripe", "strip"), ("check", "checkout"), ("log", "dialog"), ("ip", "zip"), ("a", "b")],
)
def test_words_that_do_not(wanted: str, word: str) -> None:
    assert word_fit(wanted, word) == 0


def test_a_name_written_together_is_taken_apart_by_what_was_asked() -> None:
    assert parts_of("squashmigrations", frozenset({"squashed", "migrations"})) == ["squash", "migrations"]
    assert parts_of("squashmigrations", frozenset({"apple"})) == ["squashmigrations"]


def test_a_synonym_counts_for_less_than_the_word_and_in_a_text_for_less_than_in_a_name() -> None:
    (term,) = terms_of("retry")

    assert name_fit(term, ["retry"]) > name_fit(term, ["backoff"]) > text_fit(term, prepare("a backoff of 2 s")) > 0


def test_addresses_say_nothing() -> None:
    (term,) = terms_of("paper")

    assert text_fit(term, prepare("see https://example.org/paper")) == 0
    assert text_fit(term, prepare("see the paper")) > 0


def test_japanese_is_found_in_texts_as_it_is() -> None:
    (term,) = terms_of("認証")

    assert text_fit(term, prepare("# 利用者の認証をする")) == 1
