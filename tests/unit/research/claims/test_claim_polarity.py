from localllm.research.claims.claim_polarity import added_superlative, is_negated, is_negation_invented, is_reversed
from tests.support.each import each


@each(
    ("claim", "clause", "reversed_"),
    [
        ("Sales rose.", "Sales fell by 3 %.", True),
        ("売上は減少した。", "Sales rose by 3 %.", True),
        ("Sales rose.", "Sales increased.", False),
        ("Sales did not rise.", "Sales fell.", False),
        ("Diesel cars are allowed.", "The city bans diesel cars.", True),
        ("Sales rose.", "Sales rose and then fell.", False),
    ],
)
def test_directions(claim: str, clause: str, reversed_: bool) -> None:
    assert is_reversed(claim, [clause]) is reversed_


@each(
    ("text", "negated"),
    [
        ("It is not so.", True),
        ("It isn't so.", True),
        ("安全ではない。", True),
        ("安全です。", False),
        ("ありません", True),
    ],
)
def test_negations(text: str, negated: bool) -> None:
    assert is_negated(text) is negated


def test_what_is_added() -> None:
    assert is_negation_invented("The dam is not full.", ["The dam is full."])
    assert not is_negation_invented("The dam is not full.", ["The dam lacks water."])
    assert added_superlative("It is the oldest dam.", ["It is a dam."]) == "oldest"
    assert added_superlative("最大のダムである。", ["It is the largest dam."]) == ""
