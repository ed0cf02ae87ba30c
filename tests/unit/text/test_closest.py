"""The region a passage was probably meant for."""

from localllm.text.closest import closest_region

TEXT = """import os


def load(path):
    with open(path) as file:
        return file.read()


def save(path, text):
    with open(path, "w") as file:
        file.write(text)
"""


def test_other_white_space_is_no_difference() -> None:
    region = closest_region(TEXT, 'def save(path, text):\n  with open(path, "w") as file:\n')
    assert region is not None
    assert region == (9, 10, 1.0)


def test_the_most_similar_lines_are_found() -> None:
    region = closest_region(TEXT, "def load(name):\n    with open(name) as file:\n        return file.read()")
    assert region is not None
    assert region[:2] == (4, 6)
    assert region.similarity < 1


def test_one_line_with_a_typing_error() -> None:
    region = closest_region(TEXT, "retrun file.read()")
    assert region is not None
    assert region[:2] == (6, 6)


def test_nothing_like_it() -> None:
    assert closest_region(TEXT, "class Completely: other = 42") is None
    assert closest_region("", "x") is None
    assert closest_region(TEXT, "\n \n") is None


def test_a_large_file_with_many_equal_lines_is_compared_within_bounds() -> None:
    text = "    value = compute(value)\n" * 50_000
    region = closest_region(text, "value = computed(value)\n" * 300)
    assert region is not None
