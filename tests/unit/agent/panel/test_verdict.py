"""The judge's answer, however a model writes it, and the plan that is made of it."""

import pytest

from localllm.agent.panel.verdict import PLAN_TOKENS, plan_of, plan_without_judge, read_verdict, verdict_schema
from localllm.base.events import Opinion
from localllm.llm.tokens import estimate_tokens

FIELDS = '"verdict": "stale text", "next_action": "read a.py", "avoid": "the same edit", "check": "pytest -q"'


@pytest.mark.parametrize(
    "text",
    [
        f'{{{FIELDS}, "confidence": 0.8}}',
        f'```json\n{{{FIELDS}, "confidence": "0.8"}}\n```',
        f'Here is my verdict:\n\n{{{FIELDS}, "confidence": "80%"}}\n\nGood luck!',
        f'{{{FIELDS}, "confidence": 80,}}',
        f'{{{FIELDS}, "confidence": "8/10"',
        "{'verdict': 'stale text', 'Next Action': 'read a.py', 'avoid': ['the same edit'], "
        "'check': 'pytest -q', 'confidence': 'high'}",
        f'[{{{FIELDS}, "confidence": 8}}]',
        '{"judgement": "stale text", "next_step": "read a.py", "do_not": "the same edit", "test": "pytest -q", '
        '"certainty": 0.8}',
    ],
)
def test_it_is_read_however_it_is_written(text: str) -> None:
    verdict = read_verdict(text)
    assert (verdict.verdict, verdict.next_action) == ("stale text", "read a.py")
    assert (verdict.avoid, verdict.check) == ("the same edit", "pytest -q")
    assert verdict.confidence == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("-3", 0.0),
        ("true", 0.0),
        ("null", 0.0),
        ('"very low"', 0.2),
        ('"?"', 0.0),
        ("8", 0.8),
        ("10", 1.0),
        ("11", 0.11),
        ("150", 1.0),
    ],
)
def test_confidence_is_between_0_and_1(said: str, confidence: float) -> None:
    assert read_verdict(f'{{"verdict": "v", "confidence": {said}}}').confidence == confidence


@pytest.mark.parametrize("text", ["Read the file first.", '{"colour": "blue"}', "{", "[1, 2]"])
def test_an_answer_without_the_fields_is_all_verdict_and_unsure(text: str) -> None:
    verdict = read_verdict(text)
    assert verdict.verdict == text
    assert verdict.confidence == 0
    assert plan_of(verdict).endswith(text)


def test_a_plan_is_short_and_has_every_part() -> None:
    sentence = {
        "en": "Read the file again before you edit it. ",
        "ja": "編集する前にもう一度ファイルを読んでください。",
    }
    for text in sentence.values():
        long = text * 200
        parts = ", ".join(f'"{name}": "{name} {long}"' for name in ("verdict", "next_action", "avoid", "check"))
        plan = plan_of(read_verdict(f"{{{parts}}}"))
        assert estimate_tokens(plan) <= PLAN_TOKENS
        assert all(f" {name} " in plan for name in ("verdict", "next_action", "avoid", "check"))
        assert estimate_tokens(plan_of(read_verdict(long))) <= PLAN_TOKENS


def test_opinions_nobody_has_judged_make_a_plan_that_says_so() -> None:
    opinions = [Opinion(role="conservative", text="A " * 2000), Opinion(role="progressive", text="B " * 2000)]
    plan = plan_without_judge(opinions)
    assert "Nobody could weigh" in plan
    assert "A A" in plan
    assert "B B" in plan
    assert estimate_tokens(plan) <= PLAN_TOKENS


def test_the_schema_has_only_what_every_server_knows() -> None:
    schema = verdict_schema()
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert all(set(field) == {"type"} for field in schema["properties"].values())


def test_of_an_answer_that_was_cut_off_what_is_whole_counts() -> None:
    verdict = read_verdict('{"verdict": "stale \\"text\\"", "next_action": "read a.py", "avoid": "the sa')
    assert verdict.next_action == "read a.py"
    assert verdict.avoid == ""
    assert verdict.confidence == 0
