import time

import pytest

from localllm.text.quotes import difference, find_quote
from tests.support.each import each

PAGE = (
    "Some words before it. The company — founded in 1998 — sold “21 % more”\n cars in Ｊａｐａｎ than a year ago. "
    "ﾄﾖﾀは、2024年に 約1,200万台を\n販売した。Words after it."
)


@each(
    ("quote", "found"),
    [
        (
            'The company - founded in 1998 - sold "21 % more" cars',
            "The company — founded in 1998 — sold “21 % more”\n cars",
        ),
        ("cars in Japan than a year ago.", "cars in Ｊａｐａｎ than a year ago."),
        ("「トヨタは、2024年に約1,200万台を販売した。」", "ﾄﾖﾀは、2024年に 約1,200万台を\n販売した。"),
        ("The company, founded in 1998, sold 21 % more cars in Japan than a year ago", None),
        ("Cars in Japan than a yaer ago. トヨタは", "cars in Ｊａｐａｎ than a year ago. ﾄﾖﾀは"),
        ("The firm was bought by its rival after long talks in spring", None),
        ("", None),
        ("ago!", None),
    ],
)
def test_quotes_are_found_in_the_raw_text(quote: str, found: str | None) -> None:
    span = find_quote(quote, PAGE)
    if found is None:
        assert span is None or (span.end - span.start) > 60
    else:
        assert span is not None
        assert found.strip(".ars ") in PAGE[span.start : span.end] or PAGE[span.start : span.end] in found


@each(
    ("quote", "passage", "reason"),
    [
        (
            "Sales rose by 12 % in the first half of the year",
            "Sales rose by 21 % in the first half of the year.",
            "number",
        ),
        ("The drug was shown to be safe for children", "The drug was not shown to be safe for children.", "negation"),
        ("この薬は子供に安全であることが示された", "この薬は子供に安全であることが示されなかった", "negation"),
        ("It is 20 km from the coast to the old city", "It is 20 kg from the coast to the old city", "unit"),
        (
            "The bridge was built by Yamada of Osaka in spring",
            "The bridge was built by Yamato of Osaka in spring",
            "name",
        ),
        ("It was built in the old  city", "It was built in the old city", ""),
        ("Sales rose by 1200 units in the first half", "Sales rose by 1,200 units in the first half", ""),
        ("nothing of the kind is there at all", "Sales rose by 21 %.", "text"),
    ],
)
def test_what_differs_is_named(quote: str, passage: str, reason: str) -> None:
    assert difference(quote, passage) == reason


@pytest.mark.parametrize("fill", ["The quick brown fox jumps over the lazy dog. ", "a", "日本の自動車は多く売れた。"])
def test_a_long_page_takes_time_in_proportion(fill: str) -> None:
    quote = "In the year before that, the old mill was moved from one sdie of the river to the othr one by hand."
    page = fill * (300_000 // len(fill))
    begun = time.process_time()
    assert find_quote(quote, page) is None
    span = find_quote(quote, page + quote.replace("sdie", "side").replace("othr", "other") + page)
    assert span is not None
    assert time.process_time() - begun < 20
