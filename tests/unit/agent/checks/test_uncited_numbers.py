"""Numbers in another unit are no other numbers, and long texts are not parsed to their ends."""

import time

from localllm.agent.checks.uncited_numbers import uncited_numbers
from tests.support.each import each


@each(
    ("stated", "said", "doubted"),
    [
        ("The limit is 2 GiB.", "It is 2.0 GB.", []),
        ("The limit is 2 GiB.", "It is 2 GB.", []),
        ("RAM: 16384 MiB", "It has 16 GB.", []),
        ("size 1536 KiB", "It has 1.5 MB.", []),
        ("max_bytes = 2097152", "The limit is 2 MB.", []),
        ("The limit is 2 GB.", "It is 2 GiB.", []),
        ("It took 0.25s.", "It took 250 ms.", []),
        ("timeout_ms: 30000", "It waits 30 seconds.", []),
        ("It took 1500 ms.", "It took 1.5 seconds.", []),
        ("The limit is 2 GiB.", "It is 5 GB.", ["5 GB"]),
        ("timeout_ms: 30000", "It waits 45 seconds.", ["45 seconds"]),
        ("RAM: 16384 MiB", "It has 32 GB.", ["32 GB"]),
    ],
)
def test_another_unit(stated: str, said: str, doubted: list[str]) -> None:
    assert uncited_numbers([(said, False)], [stated], []) == doubted
    assert uncited_numbers([(said, False)], [], [stated]) == doubted


def log_of(count: int) -> str:
    lines = (f"2026-11-{n % 28 + 1:02d} GET /x/{n} {n * 7} bytes {n % 900} ms" for n in range(count))
    return "\n".join(["The fee is 68,000 yen.", *lines, "The rent is 91,357 yen."])


SAID = [("The fee is 68,000 yen, the rent 91,357 yen.", False), ("The tax is 31,415.92 yen.", False)]


def test_of_long_texts_the_digits_are_enough() -> None:
    spent: list[float] = []
    for count in (4_000, 40_000):
        long, begun = log_of(count), time.process_time()
        for given, read in (([long], []), ([], [long]), ([], [long, long])):
            assert uncited_numbers(SAID, given, read) == ["31,415.92 yen"]
        spent.append(time.process_time() - begun)
    assert spent[1] < 6 * spent[0]


@each("length", ["-15000 months", "-999999999999 days", "900000 years"])
def test_a_length_of_time_beyond_the_calendar_gives_no_date(length: str) -> None:
    sentences = [("The deadline is 15 December 2024.", False)]
    assert uncited_numbers(sentences, [f"It is {length}; 15 November 1024."], []) == ["15 December 2024"]
