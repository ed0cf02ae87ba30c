"""A passage to replace is looked for in bounded time, wherever it is."""

import pytest

from tests.support.in_time import ends

NEARLY_EVERYWHERE = {
    "one letter": ("a" * 80_000, "a" * 12_000),
    "words": ("a b " * 20_000, "a  b " * 2_400),
    "words and another": ("a b " * 20_000, "a  b " * 2_400 + "c"),
    "short lines": ("a\n" * 40_000, " a\n" * 6_000),
    "signs": ("あ" * 80_000, "あ " * 3_000),
    "signs and another": ("あい" * 40_000, "あ" * 2_900 + "う"),
    "long lines": ("aaaaaaaaaaaaab\n" * 6_000, "aaaaaaaaaaaaac\n" * 350),
    "blanks": ("x" + " " * 300_000, "y" + " " * 12_000),
    "numbers": ("1: " * 26_000, "1: " * 4_000),
}


@pytest.mark.parametrize("name", NEARLY_EVERYWHERE)
def test_a_passage_that_is_nearly_everywhere_is_judged_in_bounded_time(name: str) -> None:
    code = """
        import sys
        from localllm.text.matching import find
        from localllm.tools.edit_reports import miss
        from tests.integration.test_bounded_matching import NEARLY_EVERYWHERE
        text, old = NEARLY_EVERYWHERE[sys.argv[1]]
        for new in ("new", old + "z"):
            for apart in (False, True):
                found = find(text, old, new, apart=apart)
                assert found is None or apart or len(found.spans) < 10_001
            miss("x", text, old, new)
    """
    ends(code, name)
