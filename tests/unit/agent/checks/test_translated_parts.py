"""The parts of a file that its translation has not are found."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks import translated_parts
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


def test_each_of_many_links_is_read_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    stem = vars(translated_parts)["_stem"]

    def noting(target: str) -> str:
        read.append(target)
        return stem(target)

    monkeypatch.setattr(translated_parts, "_stem", noting)
    source = "\n\n".join(f"[a](docs/a{number}.md)" for number in range(800))
    translation = "\n\n".join(f"[a](docs/b{number}.md)" for number in range(790))
    assert len(missing_parts(source, translation)) == 10
    assert len(read) < 2 * 801
