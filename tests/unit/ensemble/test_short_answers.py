"""What answers come down to is found in them, and compared by what it says."""

from localllm.ensemble.short_answers import ShortAnswer, agree, short_answer
from tests.support.each import each

LONG = "First we look at the rule of three, which tells how the one grows with the other.\n\nThen we multiply.\n\n"

SAME = [
    ("42", "42"),
    ("42", "42."),
    ("42", "**42**"),
    ("42", "The answer is 42."),
    ("42", "Answer: 42"),
    ("42", "Final Answer: **42**"),
    ("42", "答えは42です。"),
    ("42", "答え：42"),
    ("42", "４２"),
    ("42", f"{LONG}So the answer is 42."),
    ("42", f"{LONG}The final answer is: $\\boxed{{42}}$."),
    ("42", f"{LONG}#### 42"),
    ("42", f"{LONG}**42**"),
    ("42", f"{LONG}**Answer: 42**"),
    ("42", "x = 42"),
    ("42", "$x = 42$"),
    ("42", "There are 42."),
    ("42.0", "42"),
    ("1,200", "1200"),
    ("1e6", "1,000,000"),
    ("-4", "−4"),
    ("1/2", "\\frac{1}{2}"),
    ("0.5", "1/2"),
    ("50%", "50 percent"),
    ("50\\%", "0.5"),
    ("5 km", "5000 m"),
    ("5 km", "5"),
    ("3,776m", "3776メートル"),
    ("12億円", "1.2 billion yen"),
    ("2 hours", "120 minutes"),
    ("100 °C", "Water boils at 100 °C."),
    ("100^\\circ C", "100 °C"),
    ("3.14", "3.1416"),
    ("1969", "The landing was in 1969."),
    ("July 20, 1969", "1969-07-20"),
    ("Yes", "yes."),
    ("Yes", "Yes, because it is even and even numbers can be halved. That holds for all of them."),
    ("はい", "はい、可能です。"),
    ("はい", "Yes"),
    ("No", "いいえ"),
    ("True", "yes"),
    ("誤り", "No"),
    ("○", "はい"),
    ("B", "(B)"),
    ("B", "B) Paris"),
    ("B", "Option B"),
    ("B", "The answer is (b)."),
    ("B", "正解はBです。"),
    ("B", "\\boxed{\\text{B}}"),
    ("選択肢B", "B."),
    ("②", "②"),
    ("イ", "正解：イ"),
    ("Lima", "lima."),
    ("Lima", "**Lima**"),
    ("Lima", "The capital of Peru is Lima."),
    ("リマ", "ペルーの首都はリマです。"),
    ("「リマ」", "リマ"),
    ("Paris", "\\boxed{\\text{Paris}}"),
    ("the Nile", "The longest river is the Nile."),
]

DIFFERENT = [
    ("42", "43"),
    ("42", "42.3"),
    ("42 km", "42 kg"),
    ("5 km", "5 m"),
    ("42", "-42"),
    ("3.14", "3.15"),
    ("1969", "1970"),
    ("July 20, 1969", "1969-07-21"),
    ("yes", "no"),
    ("はい", "いいえ"),
    ("B", "C"),
    ("B) Paris", "C) Paris"),
    ("Lima", "Cusco"),
    ("Lima", "The capital of Peru is not Lima."),
    ("Lima", "Lima is a city, but the capital of Peru is Cusco."),
    ("Lima is the capital of Peru.", "Cusco is the capital of Peru."),
    ("It took 5 hours.", "The trip of the others took 5 hours."),
    ("12", "21"),
    ("½", "1/3"),
]

PROSE = [
    f"{LONG}Which is why nobody knows.",
    "",
    "   ",
    "A set holds each value once. A list keeps the order and holds duplicates.",
    "```python\nprint(42)\n```\nRun it twice. Then look at the output.",
    f"{LONG}**Note:** look it up.",
]


def _of(text: str) -> ShortAnswer:
    found = short_answer(text)
    assert found, f"nothing found in {text!r}"
    return found


@each("one, other", SAME)
def test_what_says_the_same_agrees(one: str, other: str) -> None:
    assert agree(_of(one), _of(other))
    assert agree(_of(other), _of(one))


@each("one, other", DIFFERENT)
def test_what_says_something_else_does_not(one: str, other: str) -> None:
    assert not agree(_of(one), _of(other))
    assert not agree(_of(other), _of(one))


@each("text", PROSE)
def test_prose_comes_down_to_nothing(text: str) -> None:
    assert short_answer(text) is None
