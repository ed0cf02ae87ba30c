"""The tests' own reader of numbers: it has to see what is wrong with a claim, and hardly ever anything else."""

from tests.research_web.dataset import load
from tests.support.claim_pairs import claim_pairs
from tests.support.each import each
from tests.support.stated_numbers import missing_numbers, stated_numbers

SOURCE = "In 2024 the plant cost 1.2 billion dollars. It covers 8.4 km and employs three quarters of 1,850 people."


@each(
    ("text", "value", "unit"),
    [
        ("12億ドル", 1.2e9, "dollar"),
        ("$1.2 billion", 1.2e9, "dollar"),
        ("4億8千万ユーロ", 4.8e8, "euro"),
        ("1万7800円", 17_800, "yen"),
        ("令和6年", 2024, ""),
        ("昭和元年", 1926, ""),
        ("3割5分", 35, "%"),
        ("三割", 30, "%"),
        ("4分の3", 75, "%"),
        ("three quarters", 75, "%"),
        ("half a million", 500_000, ""),
        ("twenty-five", 25, ""),
        ("２４万キロワット", 2.4e8, "w"),
        ("240 megawatts", 2.4e8, "w"),
        ("2.1 million cubic metres", 2.1e9, "l"),
        ("9 May", 9, ""),
    ],
)
def test_a_number_is_read(text: str, value: float, unit: str) -> None:
    first = stated_numbers(text)[0]
    assert abs(first.value - value) <= 1e-6 * value
    assert first.unit == unit


@each(
    "claim",
    [
        "建設費は12億ドルだった。",
        "令和6年に建てられた。",
        "It is 8,400 m long.",
        "75 % of the 1850 people work there.",
        "Some 8.4 kilometres are covered, it may be said.",
        "It was the first of its kind.",
    ],
)
def test_what_is_stated_is_found(claim: str) -> None:
    assert missing_numbers(claim, [SOURCE]) == []


@each(
    "claim",
    [
        "It cost 12 billion dollars.",
        "It cost 1.2 billion euros.",
        "It covers 8.4 m.",
        "It was built in 2023.",
        "It was built in 令和7年.",
        "1,580 people work there.",
    ],
)
def test_what_is_not_stated_is_missing(claim: str) -> None:
    assert missing_numbers(claim, [SOURCE])


def test_it_rarely_misses_a_number_of_a_true_claim() -> None:
    pairs = [pair for pair in claim_pairs() if pair.label]
    wrong = [pair.claim for pair in pairs if missing_numbers(pair.claim, pair.passages)]
    assert len(wrong) <= 0.05 * len(pairs), wrong


def test_it_finds_most_wrong_numbers() -> None:
    data = load()
    lies = [lie for lie in data.lies.values() if lie.why in ("number", "date", "mirror")]
    found = [lie for lie in lies if missing_numbers(lie.text, [data.facts[lie.fact].sentence])]
    assert len(found) >= 0.9 * len(lies)
