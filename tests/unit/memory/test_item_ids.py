"""What items are called, and which one is meant."""

from collections import Counter

import pytest

from localllm.base.errors import ToolExecutionError
from localllm.memory.item_ids import Named, ids_of, names_of, one_of, refuse_vague
from tests.support.each import each


def test_an_id_is_only_longer_where_a_shorter_one_would_mean_two_items() -> None:
    texts = [f"task {number}" for number in range(1_500)]
    ids = ids_of("todo", texts)
    assert len(set(ids)) == len(texts)
    begins = Counter(one[:5] for one in ids)
    assert {len(one) > 5 for one in ids} == {True, False}
    assert all((len(one) > 5) == (begins[one[:5]] > 1) for one in ids)
    alone = [text for text, one in zip(texts, ids, strict=True) if len(one) == 5][:20]
    assert all(ids_of("todo", [text]) == [ids[texts.index(text)]] for text in alone)


NAMED = [
    Named("tbcdf", "write docs", "1"),
    Named("tghjk", "write tests", "2", likely=False),
    Named("tmnpq", "Write ＴＥＳＴＳ of the parser", "3"),
    Named("pbcdf", "write", "", likely=False),
]


@each(
    ("wanted", "index"),
    [
        ("# tbcdf ", 0),
        ("TBCDF", 0),
        ("tmn", 2),
        ("2", 1),
        ("write", 3),
        ("write t", 2),
        ("write tests", 1),
        ("WRITE tests o", 2),
        ("tbcdf some words", 0),
        ("2. write tests", 1),
    ],
)
def test_which_one_is_meant(wanted: str, index: int) -> None:
    """The whole id, number or text before a beginning, and of beginnings that of a likely one."""
    assert one_of(wanted, NAMED) == index


@each(
    ("wanted", "key", "names"),
    [
        ("tb", "memory_unknown", ""),
        ("", "memory_unknown", ""),
        ("wrote docs", "memory_unknown", "tbcdf write docs"),
        ("of", "memory_unknown", ""),
        ("par", "memory_unknown", "tmnpq Write ＴＥＳＴＳ of the parser"),
        ("tbcdx", "memory_unknown", "tbcdf write docs"),
        ("wri", "memory_ambiguous", "tbcdf write docs; tmnpq Write ＴＥＳＴＳ of the parser"),
        ("tmnpq write docs", "memory_ambiguous", "tmnpq Write ＴＥＳＴＳ of the parser; tbcdf write docs"),
    ],
)
def test_what_means_none_or_several_names_those_near_it(wanted: str, key: str, names: str) -> None:
    with pytest.raises(ToolExecutionError) as raised:
        one_of(wanted, NAMED)
    assert raised.value.key == key
    assert names in str(raised.value.why or raised.value)
    assert bool(names) == any(one.id in f"{raised.value.why}" for one in NAMED)


def test_of_many_items_a_few_are_named() -> None:
    named = [Named(f"t{number}", "w" * number) for number in range(58, 64)]
    assert names_of(named[:5]).count(";") == 4
    assert names_of(named).endswith("; +1")
    assert "…" not in names_of(named[:3])
    assert names_of(named[3:]).count("…") == 3


@each(
    ("wanted", "is_refused"),
    [("wr", True), ("表", False), ("wri", False), ("tb", True), ("tbcdf", False), ("1", False), ("w", True)],
)
def test_hardly_a_beginning_is_refused(wanted: str, is_refused: bool) -> None:
    named = Named("tbcdf", "表" if wanted == "表" else "write docs", "1")
    if not is_refused:
        refuse_vague(wanted, named, [named, *NAMED])
        return
    with pytest.raises(ToolExecutionError) as raised:
        refuse_vague(wanted, named, NAMED)
    assert raised.value.key == "memory_vague"
    assert "tbcdf write docs" in str(raised.value)
