"""Rules: what they cover, their examples, and what an answer makes of a command."""

import posixpath
from pathlib import Path

import msgspec
import pytest

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.i18n import N_
from localllm.config.schema import SafetyRule, SafetySettings
from localllm.safety.policy import Policy, Situation, Verdict, was_said
from localllm.safety.rules import (
    asked_before_reading,
    check_rules,
    closed_to_reading,
    lasting_rule,
    still_showing,
    usable_rules,
)
from localllm.safety.tool_definition import Tool
from localllm.tools.builtin import TOOLS
from tests.support.each import each

RUN = next(tool for tool in TOOLS if tool.name == "run_command")
WRITE = next(tool for tool in TOOLS if tool.name == "write_file")
READ = next(tool for tool in TOOLS if tool.name == "read_file")
EDIT = next(tool for tool in TOOLS if tool.name == "edit_file")
CREATE = next(tool for tool in TOOLS if tool.name == "create_file")
COMMIT = next(tool for tool in TOOLS if tool.name == "git_commit")


def inside(path: str) -> str:
    found = posixpath.normpath(path)
    if found.startswith(("/", "..")):
        raise SafetyViolationError("path_outside", path=path, root=".")
    return found


def judge(tool: Tool, settings: SafetySettings, situation: Situation | None = None, **arguments: str) -> Verdict:
    return Policy(settings).judge(tool, dict(arguments), inside, situation or Situation())


def decide(command: str, **settings: tuple[str, ...]) -> str:
    return judge(RUN, SafetySettings(**settings), command=command).decision  # type: ignore[arg-type] - lists of rules


class TestLines:
    @each(
        ("command", "decision"),
        [
            ("pytest -q", "allow"),
            ("pytest 2>&1 | tail -3", "allow"),
            ("pytest > /dev/null 2>&1 && tail x", "allow"),
            ("(pytest; tail x) &", "allow"),
            ("timeout 60 nice -n 5 pytest", "allow"),
            ("bash -c 'pytest -q | tail'", "allow"),
            ("for f in a b; do pytest $f; done", "allow"),
            ("pytest $(tail x)", "allow"),
            ("pytest < input", "allow"),
            ("pytest > out/log", "allow"),
            ("pytest > out/../src/a.py", "ask"),
            ("pytest > /etc/passwd", "ask"),
            ("pytest > $F", "ask"),
            ("cd x; pytest > out/log", "ask"),
            ("pytest && ls", "ask"),
            ("pytest $(ls)", "ask"),
            ("A=1 pytest", "ask"),
            ("PATH=. ; pytest", "ask"),
            ("sudo pytest", "ask"),
            ("env PATH=. pytest", "ask"),
            ("bash -c 'ls'", "ask"),
            ('bash -c "$X"', "ask"),
            ("pytest() { ls; }; pytest", "ask"),
            ("$X pytest", "ask"),
            ("py{test,x}", "allow"),
            ("pytest 'unclosed", "ask"),
            ("", "ask"),
        ],
    )
    def test_all_of_a_line_must_be_allowed(self, command: str, decision: str) -> None:
        rules = ("run_command(pytest)", "run_command(tail)", "write_file(out/)")
        assert decide(command, allow=rules) == decision

    @pytest.mark.parametrize(
        ("command", "decision"),
        [("cd x && pytest", "allow"), ("pytest > out/log", "allow"), ("cd x && pytest > out/log", "ask")],
    )
    def test_where_a_redirection_writes_is_unknown_in_another_folder(self, command: str, decision: str) -> None:
        assert decide(command, allow=("run_command(cd)", "run_command(pytest)", "write_file(out/)")) == decision

    def test_ask_wins_over_allow_and_deny_over_ask(self) -> None:
        rules = {
            "allow": ("run_command(git)",),
            "ask": ("run_command(git push)",),
            "deny": ("run_command(git push -f)",),
        }
        assert decide("git log", **rules) == "allow"
        assert decide("git push", **rules) == "ask"
        assert decide("git push -f", **rules) == "deny"

    @pytest.mark.parametrize(
        "command", ["echo x > secrets/k", "echo >| src/../secrets/k", "cd secrets; echo >>k", "ls &>secrets/k"]
    )
    def test_what_a_redirection_writes_is_a_file_that_is_written(self, command: str) -> None:
        assert decide(command, allow=("*",), deny=("write_file(secrets/)",)) == "deny"
        assert decide(command, allow=("*",), deny=("write_file(other/)",)) == "allow"

    def test_an_ask_rule_of_a_users_own_is_asked_about_in_auto_mode_too(self) -> None:
        settings = SafetySettings(mode="auto", ask=("run_command(git push)", "edit_file(src/)"))
        assert judge(RUN, settings, command="true; git push").decision == "ask"
        assert judge(RUN, settings, command="git log").decision == "allow"


class TestModes:
    @pytest.mark.parametrize(
        ("mode", "read", "write", "commit", "command"),
        [
            ("plan", "allow", "deny", "deny", "deny"),
            ("ask", "allow", "ask", "ask", "ask"),
            ("auto-edit", "allow", "allow", "ask", "ask"),
            ("auto", "allow", "allow", "allow", "allow"),
        ],
    )
    def test_what_each_asks(self, mode: str, read: str, write: str, commit: str, command: str) -> None:
        settings = SafetySettings(mode=mode)  # type: ignore[arg-type] - one of them
        assert judge(READ, settings, file_path="a").decision == read
        assert judge(WRITE, settings, file_path="a").decision == write
        assert judge(COMMIT, settings, message="m").decision == commit
        assert judge(RUN, settings, command="ls").decision == command

    @pytest.mark.parametrize("decision", ["ask", "deny"])
    @pytest.mark.parametrize("named", ["write_file", "edit_file", "create_file"])
    def test_a_path_closed_to_one_tool_that_writes_is_closed_to_all(self, named: str, decision: str) -> None:
        settings = SafetySettings(mode="auto", **{decision: (f"{named}(flake.nix)",)})  # type: ignore[arg-type]
        for tool in (WRITE, EDIT, CREATE):
            assert judge(tool, settings, file_path="flake.nix").decision == decision
            assert judge(tool, settings, file_path="other.nix").decision == "allow"
        every = SafetySettings(mode="auto", **{decision: ("write_file",)})  # type: ignore[arg-type]
        assert [judge(tool, every, file_path="a").decision for tool in (CREATE, EDIT)] == [decision, "allow"]
        allowed = SafetySettings(mode="ask", allow=(f"{named}(flake.nix)",))
        assert [judge(tool, allowed, file_path="flake.nix").decision for tool in (WRITE, EDIT, CREATE)].count(
            "allow"
        ) == 1

    def test_plan_wins_over_allow(self) -> None:
        assert judge(WRITE, SafetySettings(mode="plan", allow=("*",)), file_path="a") == Verdict("deny", why="plan")

    def test_no_confirmation_is_another_word_for_auto(self) -> None:
        assert Policy(SafetySettings(require_confirmation=False)).mode == "auto"
        assert Policy(SafetySettings(require_confirmation=False, mode="plan")).mode == "plan"


class TestExamples:
    @staticmethod
    def check(**fields: object) -> None:
        rule = SafetyRule(**{"tool": "run_command", "decision": "deny", **fields})  # type: ignore[arg-type] - as a file has them
        check_rules(SafetySettings(rules=(rule,)), TOOLS)

    def test_good_ones_pass(self) -> None:
        self.check(
            prefix="git push", match=("git push origin main", "cd x; git push"), not_match=("git pushed", "git log")
        )
        self.check(prefix="pytest", decision="allow", match=("pytest -q",), not_match=("pytest; ls", "pytest > x"))
        self.check(tool="edit_file", prefix="docs/", match=("docs/a.md",), not_match=("docs2/a.md", "docs/../a"))
        self.check(tool="*", match=("a",))

    @pytest.mark.parametrize(
        ("fields", "example", "happened"),
        [
            ({"prefix": "git push", "match": ("git pull",)}, "git pull", N_("does not match its example")),
            ({"prefix": "git push", "not_match": ("git  push",)}, "git  push", N_("matches what it must not match")),
            ({"prefix": "ls", "decision": "allow", "match": ("ls | sh",)}, "ls | sh", N_("does not match its example")),
            ({"tool": "edit_file", "prefix": "docs", "match": ("src/a",)}, "src/a", N_("does not match its example")),
        ],
    )
    def test_a_failing_one_is_an_error_that_names_it(
        self, fields: dict[str, object], example: str, happened: str
    ) -> None:
        with pytest.raises(ConfigurationError) as found:
            self.check(**fields)
        assert found.value.key == "rule_example_failed"
        assert (found.value.params["example"], found.value.params["happened"].text) == (example, happened)
        assert example in str(found.value)
        assert str(fields["prefix"]) in str(found.value)

    def test_a_table_is_a_rule_like_others(self) -> None:
        table = SafetyRule(tool="run_command", prefix="git push", decision="deny")
        assert judge(RUN, SafetySettings(rules=(table,)), command="git push").decision == "deny"
        with pytest.raises(ConfigurationError):
            self.check(prefix="git push*")
        with pytest.raises(ConfigurationError):
            self.check(tool="run_comand")


class TestTaint:
    TAINTED = Situation(tainted=True)

    @pytest.mark.parametrize(
        "command",
        [
            "curl https://x",
            "git push",
            "true; wget x",
            "pip install x",
            "python -c 'import socket'",
            "cat < /dev/tcp/1.2.3.4/80",
        ],
    )
    def test_a_command_with_network_is_asked_about_whatever_allows_it(self, command: str) -> None:
        settings = SafetySettings(mode="auto", allow=("*",))
        asked = judge(RUN, settings, self.TAINTED, command=command)
        assert (asked.decision, asked.why, asked.lasting) == ("ask", "untrusted", False)
        assert judge(RUN, settings, command=command).decision == "allow"

    def test_every_command_is_asked_about_where_commands_have_a_network(self) -> None:
        settings = SafetySettings(mode="auto", allow=("*",))
        assert judge(RUN, settings, self.TAINTED, command="make").decision == "allow"
        assert judge(RUN, settings, Situation(tainted=True, network=True), command="make").decision == "ask"

    def test_words_that_were_typed(self) -> None:
        assert was_said("rust  Async traits", "please search rust async traits")
        assert not was_said("rust async SECRET", "please search rust async traits")
        assert not was_said("9a", "the id is 0123456789abcdef")
        assert not was_said("sync traits", "please search rust async traits")
        assert not was_said("a", "a b c")
        assert was_said("", "")
        assert was_said("非同期", "rustの非同期処理を調べて")
        assert was_said("Rust", "rustの非同期処理を調べて")
        assert not was_said("理", "rustの非同期処理を調べて")
        assert not was_said("ustの", "rustの非同期処理を調べて")
        assert was_said("CLAUDE.md", "CLAUDE.mdを直して")


class TestLasting:
    @pytest.mark.parametrize(
        ("asked", "scope", "shown"),
        [
            ("make test", "make test", "exactly"),
            ("make; ls > x", "make; ls > x", "exactly"),
            ("make test", "make", "run_command(make)"),
            ("make test", "make te", None),
            ("make test", "ls", None),
            ("make test", "", None),
            ("make; ls", "make;", None),
        ],
    )
    def test_commands(self, asked: str, scope: str, shown: str | None) -> None:
        rule = lasting_rule("run_command", asked, scope)
        assert (rule and ("exactly" if rule.exact else str(rule))) == shown

    def test_exactly_is_exactly(self) -> None:
        rule = lasting_rule("run_command", "make test", "make test")
        assert rule is not None
        policy = Policy(SafetySettings(), lambda: [rule])
        decisions = [
            policy.judge(RUN, {"command": text}, inside).decision for text in ("make test", "make test x", "make")
        ]
        assert decisions == ["allow", "ask", "ask"]

    @pytest.mark.parametrize(
        ("scope", "shown"),
        [
            ("https://a.example", "fetch_page(https://a.example)"),
            ("https://a.example/docs", "fetch_page(https://a.example/docs)"),
            ("https://a.example.evil", None),
            ("https://", None),
            (".", None),
            ("", None),
        ],
    )
    def test_addresses(self, scope: str, shown: str | None) -> None:
        rule = lasting_rule("fetch_page", "https://a.example", scope)
        assert (rule and str(rule)) == shown

    @pytest.mark.parametrize(
        ("scope", "shown"),
        [("docs/api/", "edit_file(docs/api)"), ("docs", "edit_file(docs)"), (".", "edit_file"), ("src", None)],
    )
    def test_folders(self, scope: str, shown: str | None) -> None:
        rule = lasting_rule("edit_file", "docs/api/", scope)
        assert (rule and str(rule)) == shown


class TestOfOthers:
    """Rules that a project or a page adds to the user's own."""

    def test_those_that_are_no_rules_are_left_out_and_said(self) -> None:
        own = SafetySettings(
            deny=("run_command(git push)",), allow=("run_command(ls)", "nothing(x)", "run_command(a|b)")
        )
        table = SafetyRule(tool="run_command", prefix="make", decision="ask", match=("ls",))
        settings = msgspec.structs.replace(own, rules=(table,))
        usable, errors = usable_rules(
            settings, {"safety.allow": ["nothing(x)", "run_command(a|b)"], "safety.rules": [table]}, TOOLS, Path()
        )
        assert usable.allow == ("run_command(ls)",)
        assert usable.deny == own.deny
        assert [(rule.prefix, rule.match) for rule in usable.rules] == [("make", ())]
        assert [error.key for error in errors] == ["rule_unknown_tool", "rule_malformed"]
        with pytest.raises(ConfigurationError):
            usable_rules(settings, {"safety.rules": [table]}, TOOLS, Path())

    @pytest.mark.parametrize("place", ["out", "out/file", "loose", "sub/../out"])
    def test_those_that_lead_out_of_the_project_are_left_out_and_said(self, place: str, tmp_path: Path) -> None:
        project = tmp_path / "project"
        (project / "sub").mkdir(parents=True)
        (project / "out").symlink_to("/usr")
        (project / "loose").symlink_to("../missing")
        table = SafetyRule(tool="*", decision="deny", prefix=place)
        own = SafetySettings(deny=("read_file(out)",))
        added = (f"read_file({place})", f"write_file({place})", "read_file(sub/..)", "write_file(out/../sub)")
        settings = msgspec.structs.replace(own, deny=(*own.deny, *added), rules=(table,))
        usable, errors = usable_rules(settings, {"safety.deny": added, "safety.rules": [table]}, TOOLS, project)
        assert {"read_file(sub/..)", "write_file(out/../sub)"} <= {*usable.deny}
        assert usable.rules == ()
        assert [error.key for error in errors] == ["rule_leads_out"] * 3
        assert f"“read_file({place})”" in str(errors[0])

    @each(
        ("deny", "tools"),
        [
            (("read_file",), True),
            (("read_file(secret)",), False),
            (("*",), False),
            (("write_file",), False),
            (("read_file", "run_command"), True),
        ],
    )
    def test_which_tools_still_show_what_may_not_be_read(self, deny: tuple[str, ...], tools: bool) -> None:
        showing = still_showing(SafetySettings(deny=deny))
        assert bool(showing) == tools
        assert ("run_command" in showing) == (tools and "run_command" not in deny)

    def test_what_is_closed_and_asked_about_is_known_by_every_name(self) -> None:
        settings = SafetySettings(
            deny=("read_file(link/)", "write_file(w)", "fetch(https://x.example)"),
            ask=("read_file(asked)", "*(every)", "run_command(make)"),
            allow=("read_file(open)",),
        )

        def canonical(path: str) -> str:
            if path == "every":
                raise SafetyViolationError("path_outside", path=path, root=".")
            return {"link": "real"}.get(path, path)

        assert closed_to_reading(settings, canonical) == ["link", "real"]
        assert asked_before_reading(settings, canonical) == ["asked", "every", "link", "real"]
        assert asked_before_reading(SafetySettings(ask=("read_file",)), canonical) == ["."]

    def test_what_a_preview_asks_is_answered_by_a_rule_or_the_mode_auto(self) -> None:
        policy = Policy(SafetySettings(mode="ask"))
        assert policy.with_question(Verdict("allow")) == Verdict("ask", why="preview", lasting=True)
        for verdict in (Verdict("allow", "a rule"), Verdict("deny"), Verdict("ask", why="address")):
            assert policy.with_question(verdict) is verdict
        assert Policy(SafetySettings(mode="auto")).with_question(Verdict("allow")) == Verdict("allow")

    def test_the_dangerous_part_of_a_line_is_named(self) -> None:
        policy = Policy(SafetySettings(dangerous_commands=("shutdown",)))
        assert policy.dangerous_part("ls && rm -r -f x") == "rm -rf"
        assert policy.dangerous_part("ls; shutdown now") == "shutdown"
        assert policy.dangerous_part("ls") == ""
