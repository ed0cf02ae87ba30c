"""What could hide a part of what somebody is asked about is shown as a number."""

import pytest

from localllm.tui.render.tool_lines import visible_blanks


@pytest.mark.parametrize("mark", ["\u0301", "\u0489", "\u11a8"])
def test_many_signs_without_width_are_counted(mark: str) -> None:
    assert visible_blanks("a" + mark * 5_000 + " hidden") == f"a<U+{ord(mark):04X}×5000> hidden"


@pytest.mark.parametrize("text", ["e\u0301le\u0300ve", "\u0e01\u0e33\u0e49", "\u0915\u094d\u0937", "か\u3099"])
def test_letters_with_their_marks_stay(text: str) -> None:
    assert visible_blanks(text) == text
