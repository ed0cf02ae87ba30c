"""The question before a call, what a no means for it, and what an answer that lasts is kept as."""

from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError
from localllm.base.events import ConfirmationAnswered, ConfirmationRequested, ToolCall
from localllm.safety.confirmation import question, refusal, remember
from localllm.safety.policy import Verdict
from localllm.safety.rules import Rule
from localllm.safety.saved_rules import RememberedRules, Scope
from localllm.safety.tool_definition import Preview, Risk
from localllm.tools.builtin import TOOLS
from tests.support.each import each

RUN = next(tool for tool in TOOLS if tool.name == "run_command")
EDIT = next(tool for tool in TOOLS if tool.name == "edit_file")
CALL = ToolCall("c1", "run_command", '{"command": "make"}')


def asked(verdict: Verdict, preview: Preview | None = None, scope: str = "make") -> ConfirmationRequested:
    return question(RUN, CALL, verdict, preview, scope, "helper")


def test_a_question_shows_the_call_and_what_an_answer_may_be_about() -> None:
    one = asked(Verdict("ask", lasting=True))
    assert (one.call_id, one.tool, one.agent, one.risk) == ("c1", "run_command", "helper", "highest")
    assert (one.summary, one.detail, one.detail_kind, one.reason) == ("run_command", CALL.arguments, "text", "")
    assert (one.lasting, one.scope, one.needs_person) == (True, "make", False)
    assert one.request_id != asked(Verdict("ask", lasting=True)).request_id
    once = asked(Verdict("ask", "ask: run_command(make)"), Preview("Run it", "make", "command"))
    assert (once.lasting, once.scope, once.reason) == (False, "", "ask: run_command(make)")
    assert (once.summary, once.detail, once.detail_kind) == ("Run it", "make", "command")


@each(
    ("verdict", "preview", "risk", "reason", "lasting"),
    [
        (Verdict("ask", "rm -rf", dangerous=True), Preview("s", "d"), "dangerous", "rm -rf", False),
        (
            Verdict("ask", why="unreadable", lasting=True),
            Preview("s", "d"),
            "highest",
            "The command line does not show",
            True,
        ),
        (Verdict("ask", why="preview", lasting=True), Preview("s", "d", question="Is it?"), "highest", "Is it?", True),
        (Verdict("ask", lasting=True), Preview("s", "d", danger="a file"), "dangerous", "", False),
        (Verdict("ask", "r"), Preview("s", "d", question="Is it?"), "highest", "r", False),
        (Verdict("ask", lasting=True), Preview("s", "d", risk=Risk.HIGH), "high", "", True),
        (Verdict("ask", "rm", dangerous=True), Preview("s", "d", risk=Risk.HIGH), "dangerous", "rm", False),
        (Verdict("ask", why="unreadable"), Preview("s", "d", risk=Risk.HIGH), "highest", "The command line", False),
        (Verdict("ask", why="untrusted"), Preview("s", "d", risk=Risk.HIGH), "highest", "Text from the web", False),
    ],
)
def test_why_it_is_asked_and_how_dangerous_it_is(
    verdict: Verdict, preview: Preview, risk: str, reason: str, lasting: bool
) -> None:
    one = asked(verdict, preview)
    assert (one.risk, one.lasting) == (risk, lasting)
    assert one.reason.startswith(reason)
    assert bool(one.reason) == bool(reason)
    assert one.summary == ("s (it would lose a file)" if preview.danger else "s")


@each(
    ("verdict", "by", "tool", "key"),
    [
        (Verdict("ask"), "user", "run_command", "denied_with_words"),
        (Verdict("ask", dangerous=True), "user", "run_command", "denied_with_words"),
        (Verdict("ask", "rm -rf", dangerous=True), "unattended", "run_command", "denied_dangerous"),
        (Verdict("ask", why="address"), "unattended", "read_file", "denied_address"),
        (Verdict("ask", why="unwanted"), "unattended", "edit_file", "denied_unwanted"),
        (Verdict("ask", why="banned"), "unattended", "edit_file", "denied_banned"),
        (Verdict("ask", why="no_commit"), "unattended", "git_commit", "denied_no_commit"),
        (Verdict("ask", why="no_run"), "unattended", "run_command", "denied_no_run"),
        (Verdict("ask", why="dry_run"), "unattended", "run_command", "denied_dry_run"),
        (Verdict("ask"), "unattended", "run_command", "denied_unattended_command"),
        (Verdict("ask"), "unattended", "edit_file", "denied_unattended"),
    ],
)
def test_a_no_says_who_said_it_and_why(verdict: Verdict, by: str, tool: str, key: str) -> None:
    made = next(one for one in TOOLS if one.name == tool)
    request = question(made, CALL, verdict, None, "x", "")
    answer = ConfirmationAnswered(request_id=request.request_id, approved=False, by=by, feedback="not now")
    error = refusal(request, verdict, answer)
    assert error.key == key
    assert ("The user says: not now" in str(error)) == (by == "user")
    assert ("rm -rf" in str(error)) == (key == "denied_dangerous")


def test_a_no_without_a_word_says_what_to_do_next() -> None:
    request = question(TOOLS[0], CALL, Verdict("ask"), None, "x", "")
    error = refusal(
        request, Verdict("ask"), ConfirmationAnswered(request_id=request.request_id, approved=False, by="user")
    )
    assert "go on without it" in str(error)


def answered(always: Scope | None, scope: str) -> ConfirmationAnswered:
    return ConfirmationAnswered(request_id="r", approved=True, by="user", always=always or "", scope=scope)


def test_an_answer_that_lasts_is_a_rule_and_one_for_once_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = RememberedRules(tmp_path / "rules.json", tmp_path)
    request = asked(Verdict("ask", lasting=True), scope="make test")
    assert remember(rules, request, answered(None, "make test")) == ""
    assert remember(rules, request, answered("project", "rm")) == ""
    assert rules.all == []
    assert remember(rules, request, answered("session", "make")) == ""
    assert remember(rules, request, answered("project", "make test")) == ""
    assert [(one.scope, one.rule.prefix, one.rule.exact) for one in rules.all] == [
        ("project", "make test", True),
        ("session", "make", False),
    ]

    def full(rule: Rule, scope: Scope) -> None:
        raise ConfigurationError("config_unwritable", file="f", reason="full")

    monkeypatch.setattr(rules, "add", full)
    assert "full" in remember(rules, request, answered("project", "make"))
