"""The parts of a file that its translation has not are found."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.translated_parts import missing_parts

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("translated_parts.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["source"].split("\n")[1] for case in CASES])
def test_parts_of_translations(case: dict[str, Any]) -> None:
    found = {text: missing_parts(case["source"], text, case.get("path", "")) for text in case["honest"]}
    assert {text: parts for text, parts in found.items() if parts} == {}
    for lossy in case.get("lossy", []):
        parts = missing_parts(case["source"], lossy["text"])
        assert len(parts) == len(lossy["missing"])
        assert all(one in part for one, part in zip(lossy["missing"], map(str, parts), strict=True)), parts
