"""A tool is its signature and its docstring."""

import msgspec
import pytest

from localllm.base.errors import ToolExecutionError
from localllm.safety.call_arguments import ArgumentsError
from localllm.safety.tool_definition import Risk, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.registry import parse_arguments, tool


class Change(msgspec.Struct):
    old: str
    new: str


@tool(risk=Risk.HIGH, writes=("file_path",))
async def change(
    context: ToolContext,
    file_path: str,
    changes: list[Change],
    count: int = 1,
    force: bool = False,
    ratio: float | None = None,
) -> ToolOutput:
    """Change a file
    in several places.

    file_path: path in the project
    changes: what to change
    """
    raise AssertionError


def test_the_schema_is_flat_and_says_no_more_than_needed() -> None:
    assert change.spec.name == "change"
    assert change.spec.description == "Change a file in several places."
    assert change.spec.parameters == {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "path in the project"},
            "changes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old", "new"],
                },
                "description": "what to change",
            },
            "count": {"type": "integer"},
            "force": {"type": "boolean"},
            "ratio": {"type": "number"},
        },
        "required": ["file_path", "changes"],
    }


def test_arguments_are_coerced_and_defaults_filled_in() -> None:
    parsed = change.parse({"path": "a", "changes": [{"old": "x", "new": "y"}], "count": "3", "force": "true"})
    assert parsed == {"file_path": "a", "changes": [Change("x", "y")], "count": 3, "force": True, "ratio": None}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"changes": []}, "file_path"),
        ({"file_path": "a", "changes": [], "count": "many"}, "count"),
        ({"file_path": "a", "changes": [], "colour": 1}, "colour"),
        ({"file_path": "a", "changes": [{"old": "x"}]}, "new"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ArgumentsError, match=named):
        change.parse(arguments)


def test_a_name_of_ours_is_not_taken_for_an_alias() -> None:
    @tool(risk=Risk.SAFE)
    async def look(context: ToolContext, path: str = ".") -> ToolOutput:
        """Look."""
        raise AssertionError

    assert look.parse({"path": "src"}) == {"path": "src"}
    assert look.parse({"directory": "src"}) == {"path": "src"}


def test_defaults_are_not_stated() -> None:
    parsed = change.parse({"file_path": "a", "changes": [{"old": "x", "new": "y"}], "count": 2, "force": False})
    assert change.stated(parsed) == {"file_path": "a", "changes": [{"old": "x", "new": "y"}], "count": 2}


def test_the_refusal_of_arguments_that_are_no_json_shows_the_right_form() -> None:
    for given, key in (("change a.py", "tool_malformed_json"), ('{"file_path": "a.py"}', "tool_bad_arguments")):
        with pytest.raises(ToolExecutionError) as caught:
            parse_arguments(change, given, was_cut=False)
        assert caught.value.key == key
        assert 'change {"file_path": "…", "changes": […]} (optional: count, force, ratio)' in caught.value.english
