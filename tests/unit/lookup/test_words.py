"""Stems and the words of identifiers."""

import pytest

from localllm.lookup.words import japanese_in, split_identifier, stem
from tests.support.each import each


@each(
    "forms",
    [
        "retry retries retried retrying",
        "connect connection connections connecting connected",
        "validate validation validator validates",
        "serialize serializer serialization serialised",
        "log logs logging logged logger",
        "cache caches cached caching",
        "query queries",
        "process processes processing",
        "response responses",
        "setting settings",
        "random randomly",
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("author", "auth"), ("factor", "fact"), ("pointer", "point"), ("string", "str"), ("user", "use")]
)
def test_other_words_do_not(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_identifiers_are_cut_at_humps_and_underscores() -> None:
    assert split_identifier("HTTPServer.do_GET2") == ["http", "server", "do", "get", "2"]


def test_japanese_is_seen() -> None:
    assert japanese_in("retry はどこ")
    assert not japanese_in("where is it – “here”")
