"""Which file has most to do with what is asked."""

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
