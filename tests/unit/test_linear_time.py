"""What a model, a page, a command or a repository brings is read in a time that grows with its length, not faster."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.answer_calls import calls_in, holds_change
from localllm.agent.phrases.announcements import announces
from localllm.agent.phrases.answer_phrases import admits_failing_tests, is_plan, says_changed
from localllm.agent.phrases.request_phrases import asks_for_change
from localllm.agent.phrases.requested_checks import asks_for_passing
from localllm.base.errors import ToolExecutionError
from localllm.config.schema import SafetySettings
from localllm.ensemble.answer_text import without_thinking
from localllm.ensemble.review_reply import read_review
from localllm.ensemble.short_answers import short_answer
from localllm.llm.discovery.http_get import Answer
from localllm.llm.discovery.scan import recognise
from localllm.research.cited_sentences import read_sentences, tidy
from localllm.safety.dangerous_commands import uses_network
from localllm.safety.plain_commands import plain_commands
from localllm.safety.policy import Policy
from localllm.safety.shell_words import Word
from localllm.sandbox.git_config import parse
from localllm.text.terminal_output import fold_repeats, plain_output
from localllm.tools.builtin import TOOLS
from localllm.tools.merge_state import state_before
from localllm.tools.patch import parse_patch, patch_in_command, replacements_in
from localllm.web.main_text import main_text


def _settings(text: str) -> None:
    list(parse(text.encode()))


def _network(text: str) -> None:
    uses_network([Word(word) for word in text.split()])


def _judge(text: str) -> None:
    tool = next(tool for tool in TOOLS if tool.name == "run_command")
    Policy(SafetySettings(deny=("run_command(git push)",))).judge(tool, {"command": text}, lambda path: path)


def _patch(text: str) -> None:
    with suppress(ToolExecutionError):
        parse_patch(text)


def _review(text: str) -> None:
    read_review(text, {"A": (0,), "B": (1,)})


def _orphan(text: str) -> None:
    without_thinking(f"x</think>{text}😀")  # wide, so that copies of it cost more


def _calls(text: str) -> None:
    calls_in(text, Path(), announces)


def _concluded(text: str) -> None:
    short_answer(f"The answer is{text}" + "4 and more " * 15)


def _page_with_metadata(text: str) -> None:
    prose = "This is a sentence of an article, which is about one thing and says it in many words. " * 9
    main_text(f'<html><body><article><p>{prose}</p></article><script>{{"@type":{text}}}</script></body></html>')


def _cited(text: str) -> None:
    read_sentences(f"As measured [{text}and so on.", {"E1"})


def _referenced(text: str) -> None:
    tidy(f"As measured [{text}and so on.")


def _request(text: str) -> None:
    asks_for_change(f"{text} it is so. I would change that?")


def _to_pass(text: str) -> None:
    asks_for_passing(f"Fix it: {text}")


def _web_page(text: str) -> None:
    async def ask(_path: str) -> Answer:
        return Answer(200, {"content-type": "text/html"}, text.encode())

    asyncio.run(recognise(ask, "openai"))


HOSTILE: list[tuple[Callable[[str], Any], str, int]] = [
    (_settings, "\n", 10_000),
    (_settings, "[\n", 10_000),
    (_settings, "a=\n", 10_000),
    (_judge, 'echo "$(', 700),
    (_judge, "eval '", 700),
    (_judge, "git -a ", 700),
    (_judge, "bash ", 700),
    (replacements_in, "<<<<<<< SEARCH\n", 10_000),
    (replacements_in, "<<<<<<< SEARCH\n=======\n", 10_000),
    (replacements_in, "@@\n", 10_000),
    (_patch, "*** Update File: a\n", 10_000),
    (_patch, "@@ a" + " " * 50, 1_000),
    (_patch, "--- a\n+++ b\n", 3_000),
    (patch_in_command, "apply_patch <<E\n", 3_000),
    (patch_in_command, "apply_patch <<E\n E\n", 3_000),
    (lambda text: state_before(Path("/"), text), "git ", 10_000),
    (_judge, "a && ", 700),
    (_judge, "a & ", 700),
    (_judge, "(", 1_000),
    (plain_commands, "a | ", 300),
    (fold_repeats, "\n", 20_000),
    (fold_repeats, "a\nb\n", 20_000),
    (plain_output, "\x1b[", 20_000),
    (plain_output, "\x1b]", 20_000),
    (plain_output, "a\b\r", 20_000),
    (announces, " ", 5_000),
    (announces, "\n", 5_000),
    (_calls, "<<<<<<< SEARCH\n", 1_000),
    (_calls, "*", 5_000),
    (holds_change, "```\n", 2_000),
    (asks_for_change, "i want a ", 1_000),
    (admits_failing_tests, "tests ", 2_000),
    (_to_pass, "tests make ", 2_000),
    (_to_pass, "テスト失敗", 2_000),
    (says_changed, "i have ", 2_000),
    (is_plan, "\n", 5_000),
    (_concluded, " ", 12),
    (_request, "using a, ", 5),
    (_cited, "E1 ", 5),
    (_referenced, "1, ", 6),
    (_page_with_metadata, " ", 4_000),
    (_web_page, "<title", 3_000),
    (_web_page, "<title>", 3_000),
    (_orphan, "\n", 80_000),
    (_review, "\n", 10_000),
    (_review, " ", 10_000),
    (_review, "-", 10_000),
    (_review, "- ", 10_000),
    (_review, "*", 10_000),
    (_review, "<think>", 5_000),
    (_review, "</think>", 5_000),
    (_review, "<|channel|>final<|message|>", 2_000),
    (_review, "```\n", 5_000),
    (_review, "```json\n{\n", 3_000),
    (_review, "## Final answer\n", 3_000),
    (_review, "## Evaluation\n", 3_000),
    (_review, "## Evaluation\nA: 1/10\n## Final answer\n", 1_000),
    (_review, "Evaluation: a. Final answer: ", 1_000),
    (_review, '{"comment": "', 2_000),
    (_review, '"final_answer": "', 2_000),
    (_review, "final integrated ", 2_000),
    (_review, "A ", 5_000),
    (_review, "(a)", 5_000),
]


def _seconds(read: Callable[[str], Any], text: str) -> float:
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.parametrize(("read", "piece", "count"), HOSTILE)
def test_four_times_the_text_takes_no_more_than_about_four_times_as_long(
    read: Callable[[str], Any], piece: str, count: int
) -> None:
    once = min(_seconds(read, piece * count + "!") for _ in range(3))  # what else the machine does only adds to it
    most = 10 * once + 0.01  # with its square: sixteen times
    assert any(_seconds(read, piece * (count * 4) + "!") < most for _ in range(3))
