"""Reading how a model splits a task."""

import pytest

from localllm.agents.delegation.splitting import Subtask, read_split


def test_parts_are_read_whatever_stands_around_them() -> None:
    text = 'Here:\n```json\n{"subtasks": [{"title": " look ", "instructions": "read a.py"}]}\n```'
    assert read_split(text) == [Subtask(title="look", instructions="read a.py")]


def test_titles_are_short_and_differ() -> None:
    parts = [{"title": "x" * 90, "instructions": "a", "writes": True}, {"title": "x" * 90, "instructions": "b"}]
    parts.append({"title": "", "instructions": "c"})
    import json

    found = read_split(json.dumps({"subtasks": parts}))
    assert found is not None
    assert [len(part.title) for part in found][:2] == [40, 42]
    assert len({part.title for part in found}) == 3
    assert found[0].writes


def test_no_part_is_lost_whatever_the_titles_are() -> None:
    text = '{"subtasks": [' + ",".join(f'{{"title": "{t}", "instructions": "{t}"}}' for t in ("a", "a 3", "a")) + "]}"
    assert [part.title for part in read_split(text) or []] == ["a", "a 3", "a 3 3"]


def test_parts_without_instructions_are_none() -> None:
    assert read_split('{"subtasks": [{"title": "x", "instructions": "  "}]}') == []
    assert read_split('{"subtasks": []}') == []


@pytest.mark.parametrize(
    "text",
    [
        "I would first look around.",
        '{"subtasks": "all"}',
        '{"parts": []}',
        '{"subtasks": [' + ",".join(['{"title": "t", "instructions": "i"}'] * 5) + "]}",
        "",
    ],
)
def test_what_is_no_split(text: str) -> None:
    assert read_split(text) is None
