"""What items are called."""

from collections import Counter

from localllm.memory.entries import ids_of


def test_an_id_is_only_longer_where_a_shorter_one_would_mean_two_items() -> None:
    texts = [f"task {number}" for number in range(1_500)]
    ids = ids_of("todo", texts)
    assert len(set(ids)) == len(texts)
    begins = Counter(one[:5] for one in ids)
    assert {len(one) > 5 for one in ids} == {True, False}
    assert all((len(one) > 5) == (begins[one[:5]] > 1) for one in ids)
    alone = [text for text, one in zip(texts, ids, strict=True) if len(one) == 5][:20]
    assert all(ids_of("todo", [text]) == [ids[texts.index(text)]] for text in alone)
