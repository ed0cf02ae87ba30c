"""Workers that fail are asked again at once."""

import pytest

from localllm.ensemble import answers


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_SECONDS_TO_RETRY", 0.001)
    monkeypatch.setattr(answers, "_SECONDS_TO_LOAD", 0.001)
