"""What docker compose and aider take from a `.env` beyond values is told."""

from collections.abc import Mapping

import pytest

from localllm.snapshots.change_log import Change
from localllm.tools.taken_settings import taken_settings


def found(path: str, before: str, after: str, states: Mapping[str, bytes] | None = None) -> list[tuple[str, str]]:
    kept = {"b": before.encode(), "a": after.encode()} if states is None else states

    def content(state: str) -> bytes:
        if state not in kept:
            raise OSError(state)
        return kept[state]

    change = Change(call="c", turn="t", tool="run_command", path=path, before="b", after="a", time=0.0)
    return list(taken_settings([change], content))


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("", "DB=x\nCOMPOSE_FILE=node_modules/.c.yaml\n", ["COMPOSE_FILE"]),
        ("COMPOSE_FILE=a.yaml\n", "COMPOSE_FILE=b.yaml\n", ["COMPOSE_FILE"]),
        ("COMPOSE_FILE=a.yaml\n", "DB=y\nCOMPOSE_FILE=a.yaml\n", []),
        ("", "export AIDER_TEST_CMD = x\n  COMPOSE_PROFILES: y\n", ["AIDER_TEST_CMD", "COMPOSE_PROFILES"]),
        ("", "\ufeffCOMPOSE_FILE=a\n", ["COMPOSE_FILE"]),
        ("", "\fCOMPOSE_FILE=a\n\u00a0AIDER_TEST_CMD=x\n", ["COMPOSE_FILE", "AIDER_TEST_CMD"]),
        ("COMPOSE_FILE=a\n", "", []),
        ("", "# COMPOSE_FILE=a\nMY_COMPOSE_FILE=a\nCOMPOSE_PROJECT_NAME=x\nDB=COMPOSE_FILE=x", []),
    ],
)
def test_what_is_new_is_named(before: str, after: str, names: list[str]) -> None:
    for path in (".env", "sub/.env.local"):
        assert found(path, before, after) == [(path, name) for name in names]
    assert found("env.txt", before, after) == []
    assert found(".environment", before, after) == []


def test_what_was_not_kept_is_passed_over() -> None:
    assert found(".env", "", "", {}) == []
