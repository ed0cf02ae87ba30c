"""Each attempt of a regular expression takes a time that grows with the text, not with a power of it."""

import pytest

from localllm.agent.checks import command_kinds
from tests.support.each import each
from tests.support.package_patterns import Pattern, patterns, rooms
from tests.support.pattern_cost import Risk, risks

BOUNDED = {
    "localllm.lookup.code_units": "lines of 300 characters, or of 1,000 in the index",
    "localllm.lookup.overview": "a path: 4,096 characters",
    "localllm.project.report": "a line of what /init writes",
    "localllm.rag.structure": "lines of 1,000 characters",
    "localllm.safety.code_loss": "lines of 160 and 500 characters",
    "localllm.snapshots.repository_objects": "a path: 4,096 characters",
    "localllm.snapshots.repository_restore": "a path: 4,096 characters",
}
"""Modules whose patterns may take more, with what bounds them."""


def _costs(found: Pattern) -> tuple[Risk, ...]:
    """Return what takes more than linear time in one attempt, or exponential time where the text is bounded."""
    is_bounded = found.module in BOUNDED
    return risks(found.text, found.flags, search=False, whole=found.is_whole, adjacent=not is_bounded)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("room", rooms())
def test_no_text_can_be_divided_between_repeats_in_many_ways(room: str) -> None:
    """A pattern that fails here shows a text that takes long when it is repeated; possessive repeats (`*+`) help."""
    assert [(found.module, found.line, costs) for found in patterns(room) if (costs := _costs(found))] == []


def test_the_patterns_of_the_package_are_found() -> None:
    found = {pattern.text: pattern for pattern in patterns("agent")}
    assert command_kinds._BEFORE.pattern in found
    assert len(found) > 50


@each(
    ("text", "kinds"),
    [
        (r"\s*\s*x", {"adjacent"}),
        (r'"@type"\s*:\s*\[?\s*"', {"adjacent"}),
        (r'"@type"\s*+:\s*+(?:\[\s*+)?"', set()),
        (r"(?:a|b*)*c", {"nested"}),
        (r"(?:\w{1,50})*x", {"nested"}),
        (r"(?:\s*,?\s*E\d)*\]", {"nested"}),
        (r"(?>(?:\s*+(?:,\s*+)?E\d)*)\]", set()),
        (r"(?:[\w-]+/)*[\w-]+\.x", set()),
        (r"\s*[a-z]*", set()),
        (r"(?!.{250})\s*\s*x", set()),
        (r"a*(?=a*b)", {"adjacent"}),
        (r"(?m).*,.*$", set()),
        (r"x*", set()),
    ],
)
def test_what_takes_more_is_found(text: str, kinds: set[str]) -> None:
    assert {risk.kind for risk in risks(text, search=False)} == kinds


@pytest.mark.parametrize(
    ("text", "is_slow"),
    [(r"\s+$", True), (r"(?<!\s)\s+$", False), (r"<title[^>]*>", True), (r"<title[^<>]*>", False), (r"\s+", False)],
)
def test_a_search_begins_at_each_place(text: str, is_slow: bool) -> None:
    assert any(risk.kind == "search" for risk in risks(text)) == is_slow
