"""Which file has most to do with what is asked."""

import pytest

from localllm.context.code_outline import Relevance

TEXTS = {
    "shop/cart.py": "class Cart:\n    def add(self, item): ...\n",
    "shop/price.py": "def discount(total):\n    return total * 0.9\n",
    "docs/notes.md": "Carts are emptied at midnight.",
    "shop/log.py": "def write(text): ...\n",
}


def relevance(**ranks: float) -> Relevance:
    found = Relevance(lambda path: ranks.get(path.rpartition("/")[2].partition(".")[0], 0.0))
    for path, text in TEXTS.items():
        found.note(path, text, looked_at=False)
    return found


def best(found: Relevance, query: str) -> str:
    return max(TEXTS, key=lambda path: found.score(path, query))


def test_words_symbols_and_paths() -> None:
    found = relevance()
    assert best(found, "How is the discount computed?") == "shop/price.py"
    assert best(found, "adding an item to a Cart") == "shop/cart.py"
    assert best(found, "midnight") == "docs/notes.md"


def test_a_file_that_is_named_wins() -> None:
    assert best(relevance(), "the discount in shop/log.py") == "shop/log.py"
    assert best(relevance(), "what does log.py do?") == "shop/log.py"


def test_a_short_name_is_not_found_inside_a_longer_word() -> None:
    found = relevance()
    assert found.score("shop/log.py", "empty the catalogue") == found.score("nowhere.txt", "empty the catalogue") == 0
    assert found.score("docs/notes.md", "footnotes") > 0


def test_rank_and_recency_decide_where_words_do_not() -> None:
    assert best(relevance(log=1.0), "anything else") == "shop/log.py"
    found = relevance()
    found.note("shop/log.py", TEXTS["shop/log.py"])
    found.note("shop/price.py", TEXTS["shop/price.py"])
    assert best(found, "anything else") == "shop/price.py"
    assert found.score("shop/log.py", "anything else") > found.score("shop/cart.py", "anything else")


def test_scores_lie_between_0_and_1() -> None:
    found = relevance(cart=7.0)
    found.note("shop/cart.py", TEXTS["shop/cart.py"])
    assert 0.5 < found.score("shop/cart.py", "shop/cart.py: class Cart, add item " * 9) <= 1
    assert found.score("nowhere.txt", "zzz") == 0


def test_a_new_text_replaces_the_old_one() -> None:
    found = relevance()
    found.note("shop/log.py", "def discount(): ...\n" * 3)
    assert best(found, "discount") == "shop/log.py"


def test_what_was_looked_at_again_is_the_newest_again() -> None:
    found = relevance()
    for path in ("shop/log.py", "shop/price.py", "shop/log.py"):
        found.note(path, TEXTS[path])
    assert best(found, "anything else") == "shop/log.py"


def test_a_term_in_the_path_says_more_than_one_in_the_text() -> None:
    found = relevance()
    found.note("tax/one.py", "rates of all kinds", looked_at=False)
    found.note("two/two.py", "tax of all kinds", looked_at=False)
    assert found.score("tax/one.py", "tax") > found.score("two/two.py", "tax")


def test_what_a_file_defines_says_more_than_what_it_only_names() -> None:
    found = relevance()
    found.note("a.py", "def refund(total): ...", looked_at=False)
    found.note("b.py", "x = refund(total) ...", looked_at=False)
    assert found.score("a.py", "the refund") > found.score("b.py", "the refund")


@pytest.mark.parametrize(
    ("query", "score"),
    [
        ("what is in Web/Parser.PY?", 0.2),
        ("what is in parser.py?", 0.18),
        ("what does the PARSER do?", 0.1),
        ("how is it parsed?", 0.0),
    ],
)
def test_how_much_it_counts_that_a_file_is_named(query: str, score: float) -> None:
    assert relevance().score("web/Parser.py", query) == pytest.approx(score)


@pytest.mark.parametrize(("rank", "counts"), [(-3.0, 0.0), (0.5, 0.5), (7.0, 1.0)])
def test_a_rank_beyond_its_bounds_counts_as_the_bound(rank: float, counts: float) -> None:
    most = relevance(log=1.0).score("shop/log.py", "anything else")
    assert relevance(log=rank).score("shop/log.py", "anything else") == pytest.approx(counts * most)
