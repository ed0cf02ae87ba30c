"""The end of a run in one line."""

import pytest

from localllm.base.events import Usage
from localllm.text.sanitising import display_width
from localllm.tui.render.report import cost, said_lines, wrapped

TOKENS = {"prompt_tokens": 1000, "completion_tokens": 20}


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (Usage(), "steps 2 · 3.0 s"),
        (Usage(**TOKENS), "steps 2 · in 1,000 · out 20 tokens · 3.0 s"),
        (Usage(**TOKENS, cached_tokens=900), "steps 2 · in 1,000 (900 cached) · out 20 tokens · 3.0 s"),
        (Usage(**TOKENS, estimated=True), "steps 2 · ~in 1,000 · out 20 tokens · 3.0 s"),
        (Usage(**TOKENS, generation_seconds=0.5), "steps 2 · in 1,000 · out 20 tokens · 40 tokens/s · 3.0 s"),
        (Usage(**TOKENS, generation_seconds=8), "steps 2 · in 1,000 · out 20 tokens · 2.5 tokens/s · 3.0 s"),
        (Usage(**TOKENS, generation_seconds=0.0004), "steps 2 · in 1,000 · out 20 tokens · 3.0 s"),
        (Usage(prompt_tokens=1, completion_tokens=2, generation_seconds=2), "steps 2 · in 1 · out 2 tokens · 3.0 s"),
        (Usage(completion_tokens=9000, generation_seconds=0.2), "steps 2 · in 0 · out 9,000 tokens · 3.0 s"),
        (Usage(completion_tokens=1), "steps 2 · in 0 · out 1 token · 3.0 s"),
        (Usage(**TOKENS, first_token_seconds=0.4), "steps 2 · in 1,000 · out 20 tokens · 3.0 s"),
        (
            Usage(**TOKENS, first_token_seconds=75),
            "steps 2 · in 1,000 · out 20 tokens · first after 1 min 15 s · 3.0 s",
        ),
    ],
)
def test_what_a_run_took(usage: Usage, line: str) -> None:
    assert cost(2, usage, 3.0) == line


def test_the_speed_of_a_run_is_that_of_all_its_answers() -> None:
    slow = Usage(completion_tokens=10, generation_seconds=10, first_token_seconds=2)
    fast = Usage(completion_tokens=90, generation_seconds=10, first_token_seconds=1)
    assert (slow + fast).tokens_per_second == 5
    assert (slow + fast).first_token_seconds == 2
    assert Usage(completion_tokens=10).tokens_per_second == 0


@pytest.mark.parametrize(("mode", "head"), [("", "› "), ("plan", "plan › ")])
def test_what_was_said_is_broken_between_words(mode: str, head: str) -> None:
    said = "change the long line " * 5
    lines = ["".join(part for _, part in line) for line in said_lines(f"{said}\n\tx", 40, mode)]
    assert lines[0].startswith(f"{head}change the")
    assert all(line.startswith(" " * len(head)) for line in lines[1:])
    assert " ".join(line[len(head) :] for line in lines[:-1]) == said.strip()
    assert lines[-1] == f"{' ' * len(head)}    x"
    assert max(map(display_width, lines)) <= 40


@pytest.mark.parametrize("mark", ["! ", "    "])
def test_wrapped_lines_stand_behind_their_mark_and_fit(mark: str) -> None:
    lines = ["".join(part[1] for part in line) for line in wrapped(mark, "電源を切らないでください。 " * 5, "", 40)]
    assert len(lines) > 1
    assert max(map(display_width, lines)) <= 40
    assert all(line.startswith(mark if number == 0 else " " * len(mark)) for number, line in enumerate(lines))
