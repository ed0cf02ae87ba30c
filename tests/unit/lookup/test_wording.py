"""The engine's own words, in two languages."""

import re

from localllm.lookup import wording


def test_both_languages_have_the_same_places_to_fill() -> None:
    for key, (english, japanese) in wording.TEXTS.items():
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", japanese)), key


def test_they_are_chosen_by_language() -> None:
    assert wording.say(False, "also") == "Also:"
    assert wording.say(True, "also") == "ほかに:"
