"""Remarks in words: those of ours in every form, and those that somebody else has made as they stand."""

import string

import pytest

from localllm.base.error_texts import ERRORS
from localllm.base.i18n import N_
from localllm.research.records import Remark
from localllm.research.remark_texts import in_words, remark


def test_values_are_put_into_the_texts_of_ours() -> None:
    said = N_("Only one source could be read; {least} were wanted.", "Only {count} sources; {least} were wanted.")
    assert in_words(remark(said, count=1, least=3)) == "Only one source could be read; 3 were wanted."
    assert in_words(remark(said, count=2, least=3)) == "Only 2 sources; 3 were wanted."
    assert in_words(remark("{most:,} of {seconds:g} s, {share:.1f}", most=1234, seconds=2.50, share=0.26)) == (
        "1,234 of 2.5 s, 0.3"
    )
    assert in_words(remark("{limit} {limit:?time/times}", limit=2)) == "2 times"


def test_a_reason_of_ours_is_in_the_language_of_the_report() -> None:
    what = ERRORS["duckduckgo_failed"].what
    said = in_words(Remark(what, {"reason": "its name cannot be resolved"}), "ja")
    assert "名前を解決できません" in said
    assert "cannot be resolved" not in said
    assert "{x} is odd" in in_words(Remark(what, {"reason": "{x} is odd"}), "ja")
    assert "Own words" in in_words(Remark(what, {"reason": "Own words"}), "ja")


@pytest.mark.parametrize("key", ERRORS)
def test_what_every_error_says_is_one_of_ours(key: str) -> None:
    """What an error says may be a remark: here each value is the number 7."""
    what = ERRORS[key].what
    params = {name: 7 for _, name, _, _ in string.Formatter().parse(what) if name}
    assert "{" not in in_words(Remark(what, params))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("{a:>99999999999}", {"a": "x"}),
        ("{a:99999999999d}", {"a": 1}),
        ("{a:.999999999f}", {"a": 1.0}),
        ("{a.__class__}", {"a": "x"}),
        ("{a[0]}", {"a": "x"}),
        ("{a!r}", {"a": "x"}),
        ("{}", {}),
        ("{0}", {}),
        ("{missing}", {}),
        ("{count:?one/many}", {}),
        ("{a:,}", {"a": "x"}),
        ("{a:{b}}", {"a": 1, "b": ">99999999999"}),
        ("a { brace", {}),
    ],
)
def test_what_is_none_of_ours_stays_as_it_stands(text: str, params: dict[str, object]) -> None:
    assert in_words(Remark(text, params)) == text  # type: ignore[arg-type]
    assert in_words(Remark("one", {"count": 2, **params}, text)) in ("one", text)  # type: ignore[dict-item]


def test_no_remark_goes_on_in_another_line() -> None:
    """A line of its own would pass for one of the program's."""
    assert in_words(Remark("Failed.\r\nlocalllm: {a}", {"a": "all\u2028is well"})) == "Failed. localllm: all is well"
