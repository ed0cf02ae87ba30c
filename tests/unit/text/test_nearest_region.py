"""The region a passage was probably meant for."""

from localllm.text.nearest_region import closest_region, closest_regions

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


def test_lines_left_out_in_the_middle_are_shown() -> None:
    text = (
        "def f(path):\n    a = open(path)\n    if a is None:\n        return None\n\n    b = a.read()\n    return b\n"
    )
    region = closest_region(text, "def f(path):\n    a = open(path)\n    b = a.read()\n    return b")
    assert region is not None
    assert region[:2] == (1, 7)


CONFLICT = """def total(items):
    s = 0.0
    for i in items:
<<<<<<< HEAD
        s += i["price"] + i["qty"]
    return float(s)
=======
        s += i["price"] * i["qty"]
    return round(s, 2)
>>>>>>> b7facc5 (Round totals)
"""


def test_a_block_begins_with_its_first_line_where_lines_behind_that_are_left_out() -> None:
    wanted = "<<<<<<< HEAD\n    return float(s)\n=======\n    return round(s, 2)\n>>>>>>> (Round totals)"
    region = closest_region(CONFLICT, wanted)
    assert region is not None
    assert region[:2] == (4, 10)


def test_a_short_line_before_a_region_does_not_begin_it() -> None:
    text = "try:\n    a()\n    b = 1\n    c = 2\n    return load_file(path, mode)\n    close(path)\n"
    region = closest_region(text, "try:\n    return load_file(path)\n    close(path)")
    assert region is not None
    assert region.start > 1


def test_places_as_close_are_given_too() -> None:
    found = closest_regions("total = x + 1\n\n\nother()\n\ntotal = x + 2\n", "total = x + 3")
    assert {region.start for region in found} == {1, 6}


def test_one_line_that_is_there_is_enough() -> None:
    region = closest_region(
        TEXT, "<<<<<<< SEARCH\n        file.write(text)\n=======\nsomething else that is long\n>>>>>>>"
    )
    assert region is not None
    assert region.start <= 11 <= region.end


def test_nothing_like_it() -> None:
    assert closest_region(TEXT, "class Completely: other = 42") is None
    assert closest_region("", "x") is None
    assert closest_region(TEXT, "\n \n") is None


def test_a_large_file_with_many_equal_lines_is_compared_within_bounds() -> None:
    text = "    value = compute(value)\n" * 50_000
    region = closest_region(text, "value = computed(value)\n" * 300)
    assert region is not None
