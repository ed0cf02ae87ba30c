"""The judge's answer, however a model writes it, and the plan that is made of it."""

import pytest

from localllm.agent.panel.verdict import (
    PLAN_TOKENS,
    parts_of,
    plan_of,
    plan_without_judge,
    read_verdict,
    verdict_schema,
)
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
        ("0.35", 0.35),
        ("100", 1.0),
        ('"7/10"', 0.7),
        ('"3 / 5"', 0.6),
        ('"1/0"', 1.0),
        ('"35%"', 0.35),
        ('"250 %"', 1.0),
        ('"about 0.35"', 0.35),
        ('"35 of a hundred"', 0.35),
        ('"Medium"', 0.5),
        ('"certain"', 0.9),
        ('"moderate"', 0.5),
        ('"高い"', 0.8),
        ('"中"', 0.5),
        ('"低"', 0.2),
        ("[0.8]", 0.0),
        ("0.5", 0.5),
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
    assert "No judge could weigh" in plan
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


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ('{"verdict": "v", "next": "a", "next_action": "b"}', "b"),
        ('{"Next-Steps": ["read a.py", "", "edit it"]}', "read a.py; edit it"),
        ('{"plan": {"first": "read", "then": 2}}', "first: read; then: 2"),
        ('{"next_action": null, "recommendation": " read "}', "read"),
        ('{"verdict": "v", "next_action": 3}', "3"),
        ('I think {so}: {"verdict": "v", "next_action": "a {b} c"} and {so on}', "a {b} c"),
    ],
)
def test_a_field_is_read_by_its_own_name_first_and_in_any_form(text: str, step: str) -> None:
    assert read_verdict(text).next_action == step


@pytest.mark.parametrize("name", ["judgement", "judgment", "diagnosis", "cause", "conclusion"])
def test_what_models_call_the_verdict(name: str) -> None:
    assert read_verdict(f'{{"{name}": "v"}}').verdict == "v"


def test_a_plan_names_the_parts_there_are() -> None:
    found = read_verdict('{"verdict": "stale", "avoid": "the same edit", "next_action": ""}')
    assert parts_of(found) == {"verdict": "stale", "avoid": "the same edit"}
    assert plan_of(found) == "Verdict: stale\nAvoid: the same edit"
    alone = read_verdict('{"verdict": "stale", "confidence": 0.9}')
    assert (parts_of(alone), plan_of(alone), alone.confidence) == ({}, "stale", 0.9)


def test_the_next_step_has_the_most_room() -> None:
    long = "Read it again. " * 200
    fields = ", ".join(f'"{name}": "{long}"' for name in ("verdict", "next_action", "avoid", "check"))
    sizes = {name: estimate_tokens(text) for name, text in parts_of(read_verdict(f"{{{fields}}}")).items()}
    assert sorted(sizes, key=lambda name: -sizes[name]) == ["next_action", "verdict", "avoid", "check"]
    assert sum(sizes.values()) > 330


@pytest.mark.parametrize("count", [1, 2, 3])
def test_opinions_share_a_plan_and_stand_under_their_roles(count: int) -> None:
    roles = ("conservative", "progressive", "judge")[:count]
    plan = plan_without_judge([Opinion(role=role, text=f"{role[0]} " * 2_000) for role in roles])
    assert [part.split(": ")[0] for part in plan.split("\n\n")[1:]] == list(roles)
    assert 330 < estimate_tokens(plan) <= PLAN_TOKENS
