"""What the fixes of errors have in common, wherever they are shown."""

import re

import pytest

from localllm.base.error_texts import ERRORS


@pytest.mark.parametrize("command", ["model", "provider"])
def test_a_fix_that_names_a_chat_command_names_the_option_and_the_setting_too(command: str) -> None:
    told = [text for text in ERRORS.values() if re.search(rf"(?<![\w-])/{command}\b", text.fix)]
    assert told
    assert [text.code for text in told if f"--{command}" not in text.fix or f"llm.{command}" not in text.fix] == []
