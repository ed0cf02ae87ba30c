"""Of a long output what a model needs to go on is left, wherever it stands."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.context.conversation import Conversation
from localllm.context.pruning import cut_message
from localllm.llm.messages import SystemMessage, ToolMessage
from localllm.llm.tokens import estimate_tokens
from localllm.tools.results import cap
from tests.support.tools import make_context

FILE = Path(__file__).parent / "outside-outputs.toml"
OUTPUTS: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["output"]
LIMIT = 1_500
NOTES = 400


def _text(parts: list[str | dict[str, Any]]) -> str:
    return "".join(part if isinstance(part, str) else _lines(part["each"], part["to"]) for part in parts)


def _lines(line: str, count: int) -> str:
    return "".join(line.replace("{n}", str(number)) for number in range(1, count + 1))


def _whole(output: dict[str, Any]) -> str:
    ending = f"Exit code {output['status']}.\n" if output["status"] else ""
    return ending + _text(output["parts"])


@pytest.mark.parametrize("output", OUTPUTS, ids=[output["name"] for output in OUTPUTS])
class TestWhatIsNeededIsLeft:
    def test_when_a_model_is_given_it(self, output: dict[str, Any], tmp_path: Path) -> None:
        text = _whole(output)
        capped = cap(text, make_context(tmp_path, output_limit=LIMIT), "run_command", faults=True)
        assert len(text) > 2 * LIMIT
        assert len(capped) <= LIMIT + NOTES
        assert not [needed for needed in output["must"] if needed not in capped]

    def test_when_it_is_cut_later_to_make_room(self, output: dict[str, Any]) -> None:
        text = _whole(output)
        tokens = estimate_tokens(text) * LIMIT // len(text)
        result = ToolMessage("c", "run_command", text)
        made = cut_message(Conversation((SystemMessage("s"), result)), 1, tokens, estimate_tokens).messages[1].text
        assert estimate_tokens(made) <= tokens
        assert not [needed for needed in output["must"] if needed not in made]
