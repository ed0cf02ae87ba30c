"""A calculation that a sentence writes out is reckoned again."""

from localllm.text.calculations import is_result
from localllm.text.quantities import quantities
from tests.support.each import each


@each(
    ("sentence", "is_right"),
    [
        ("5 × 40 = 200 EUR", True),
        ("5 × 40 = 210 EUR", False),
        ("450,000円 × 14.6% × 30 ÷ 365 = 5,400円", True),
        ("450,000円×12か月＝5,400,000円", True),
        ("100 ÷ 4 ÷ 5 = 5", True),
        ("31,250 - 2,500 = 28,750 EUR", True),
        ("2 × 2 l × 18 EUR + 45 EUR = 117 EUR", True),
        ("1,200 EUR / 7 ≈ 171.43 EUR", True),
        ("The fee is 200 EUR", False),
        ("fee = 200 EUR", False),
        ("40 people: 200 EUR", False),
        ("7 / 0 = 7", False),
    ],
)
def test_whether_a_number_is_the_result(sentence: str, is_right: bool) -> None:
    found = quantities(sentence)
    assert is_result(sentence, found, len(found) - 1) == is_right
