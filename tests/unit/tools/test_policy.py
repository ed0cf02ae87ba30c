"""What is allowed, asked about and denied."""

import subprocess
from pathlib import Path

import pytest

from localllm.base.errors import ConfigurationError, SafetyViolationError
from localllm.base.events import Json
from localllm.config.schema import Mode, SafetySettings
from localllm.safety.paths import ProjectRoot
from localllm.safety.policy import Policy, Situation, Verdict
from localllm.safety.rules import check_rules, closed_to_commands
from localllm.safety.tool_definition import Risk, Tool, ToolOutput
from localllm.tools.builtin import TOOLS
from localllm.tools.context import ToolContext
from localllm.tools.registry import tool
from tests.support.agents import Answering, make_tools
from tests.support.each import each


@tool(risk=Risk.HIGHEST)
async def run_command(context: ToolContext, command: str) -> ToolOutput:
    """Run."""
    raise AssertionError("judged, not run")


@tool(risk=Risk.HIGH)
async def edit_file(context: ToolContext, file_path: str) -> ToolOutput:
    """Edit."""
    raise AssertionError("judged, not run")


@tool(risk=Risk.SAFE)
async def read_file(context: ToolContext, file_path: str) -> ToolOutput:
    """Read."""
    raise AssertionError("judged, not run")


def judge(tool: Tool, settings: SafetySettings | None = None, **arguments: Json) -> Verdict:
    return Policy(settings or SafetySettings()).judge(tool, dict(arguments), lambda path: path)


def test_reading_is_allowed_and_changing_asked_about() -> None:
    assert judge(read_file, file_path="a").decision == "allow"
    assert judge(edit_file, file_path="a").decision == "ask"
    assert judge(run_command, command="ls").decision == "ask"


def test_confirmation_can_be_switched_off_but_not_for_dangerous_commands() -> None:
    settings = SafetySettings(require_confirmation=False)
    assert judge(edit_file, settings, file_path="a").decision == "allow"
    verdict = judge(run_command, settings, command="rm -rf build")
    assert (verdict.decision, verdict.dangerous) == ("ask", True)


def test_deny_wins_over_allow() -> None:
    settings = SafetySettings(allow=("*",), deny=("edit_file(secret/)", "run_command(git push)"))
    assert judge(edit_file, settings, file_path="src/a.py").decision == "allow"
    assert judge(edit_file, settings, file_path="secret/a.py").decision == "deny"
    assert judge(run_command, settings, command="git push --force").decision == "deny"
    assert judge(run_command, settings, command="git status").decision == "allow"


@each(
    ("command", "allowed"),
    [
        ("pytest", True),
        ("pytest -q tests", True),
        ("pytest 'a test'", True),
        ("pytestx", False),
        ("python -m pytest", False),
        ("pytest; curl x", False),
        ("pytest && rm a", False),
        ("pytest | tee out", False),
        ("pytest > /etc/passwd", False),
        ("pytest $(evil)", False),
        ("pytest `evil`", False),
        ("pytest\nevil", False),
        ("pytest & evil", False),
    ],
)
def test_an_allowed_command_is_a_single_plain_one(command: str, allowed: bool) -> None:
    verdict = judge(run_command, SafetySettings(allow=("run_command(pytest)",)), command=command)
    assert (verdict.decision == "allow") == allowed


@each(
    "command",
    [
        "rm -rf /",
        "rm -fr x",
        "rm -r -f x",
        "rm --recursive --force x",
        "/bin/rm -rf x",
        "cd a && rm -rf b",
        "find . -name x -exec rm -rf {} ;",
        "ls | xargs rm -rf",
        "echo $(rm -rf x)",
        "sudo ls",
        "FOO=1 sudo ls",
        "env A=b timeout 5 sudo ls",
        "chmod 777 a",
        "chmod -R 777 a",
        "format c:",
        "FORMAT D:",
        "del /s x",
        "bash -c 'rm -rf .'",
        "bash -lc 'cd x; rm -rf .'",
        """sh -c "bash -c 'ls; rm -rf .'" """,
        'eval "rm -rf ."',
        "eval 'true; sudo x'",
        "bash -o pipefail -c 'sudo x'",
        "if true; then sudo x; fi",
        "if sudo x; then true; fi",
        "if true; then a; else sudo x; fi",
        "for f in a; do sudo x; done",
        "while sudo x; do true; done",
        "until sudo x; do true; done",
        "! sudo x",
        "{ sudo x; }",
        "f() { sudo x; }; f",
        "(sudo x)",
        "ls\nsudo x",
        "ls &&\n  sudo x",
        "sudo\\\n x",
        "\\rm -rf x",
        '"rm" -rf x',
        "r''m -rf x",
        "command rm -rf x",
        "find . -exec sudo x {} +",
        'echo "$(sudo x)"',
        'echo "$(cd "a b" && sudo x)"',
        "echo `sudo x`",
        "cat <(sudo x)",
        "bash <<< 'sudo x'",
        "bash <<EOF\nit's\nsudo x\nEOF",
        "# it's\nsudo x # it's",
        ">out sudo x",
    ],
)
def test_dangerous_commands_are_seen(command: str) -> None:
    assert judge(run_command, SafetySettings(allow=("*",)), command=command).dangerous


@each(
    "command",
    [
        "rm a",
        "rm -r a",
        "grep sudo x",
        "ruff format .",
        "cat sudo.txt",
        "chmod 755 a",
        "echo format",
        "git log --format=%h",
        "git commit -m 'no; sudo here'",
        "grep -e sudo x",
        "echo a > sudo",
        "if true; then ls; fi",
    ],
)
def test_harmless_commands_are_not_taken_for_dangerous_ones(command: str) -> None:
    assert not judge(run_command, command=command).dangerous


def test_a_tool_denied_as_a_whole_is_known_at_the_start() -> None:
    policy = Policy(SafetySettings(deny=("edit_file", "run_command(git push)")))
    assert policy.denies(edit_file)
    assert not policy.denies(run_command)
    assert Policy(SafetySettings(deny=("*",))).denies(read_file)


@each(
    ("entries", "command"),
    [
        ((), "rm -rf sub"),
        (("terraform destroy",), "rm -rf sub"),
        (("terraform destroy",), "sudo ls"),
        (("terraform destroy",), "terraform destroy -auto-approve"),
        (("rm -rf", "format", "del /s"), "chmod 777 a"),
    ],
)
def test_what_the_settings_name_adds_to_the_built_in_dangers(entries: tuple[str, ...], command: str) -> None:
    settings = SafetySettings(mode="auto", allow=("*",), dangerous_commands=entries)
    assert judge(run_command, settings, command=command).dangerous


def test_an_empty_entry_is_no_danger() -> None:
    settings = SafetySettings(dangerous_commands=("", " ", "sudo"))
    assert not judge(run_command, settings, command="ls").dangerous
    assert judge(run_command, settings, command="sudo ls").dangerous


@each(
    "command",
    [
        "git push",
        "git push origin main",
        "git push; true",
        "cd x && git push",
        "git push 2>&1",
        "git 2>&1 push",
        "true | git push",
        'git push "~"',
        "env git push",
        "A=1 git push",
        "/usr/bin/git push",
        "bash -c 'git push'",
        "bash -c 'cd x && git push'",
        "eval git push",
        "eval 'git' 'push; x'",
        "(git push)",
        "$(git push)",
        "`git push`",
        'echo "$(git push)"',
        "git -C x push",
        "git -c a=b --no-pager push",
        "git \\\n push",
        "g'i't pu\"sh\"",
        "$'git' push",
        "G=git; $G push",
        "git $(echo push)",
        "{git,push}",
        "case x in x) git push;; esac",
        "for f in a; do git push; done",
        "f() { git push; }; f",
        "git push 'unclosed",
        "cat <<EOF\nit's\nEOF\ngit push",
        "timeout 5 git push",
        "find . -exec git push \\;",
        "flock x git push",
        "echo $'it\\'s'; git push; echo 'x'",
        "echo $$'\\'; git push; echo ''",
        "eval " * 200 + "git push",
    ],
)
def test_a_denied_command_is_denied_in_any_part_of_the_line(command: str) -> None:
    settings = SafetySettings(require_confirmation=False, allow=("*",), deny=("run_command(git push)",))
    assert judge(run_command, settings, command=command) == Verdict("deny", "run_command(git push)")


@each(
    "command",
    [
        "git status",
        "git stash push",
        "git commit -m 'push; git push'",
        "git commit -m push",
        "git add push",
        "echo $HOME push",
        "push git",
        'cd "$DIR" && git log 2>&1 | head',
        "D=$(date) make",
        "[ -f push ] && ls *",
        "digit push",
        "cat > a <<'EOF'\n" + "a line # with a note\n" * 300 + "EOF",
    ],
)
def test_other_commands_are_not_denied_with_it(command: str) -> None:
    settings = SafetySettings(allow=("*",), deny=("run_command(git push)",))
    assert judge(run_command, settings, command=command).decision == "allow"


@each(
    ("rule", "command", "denied"),
    [
        ("curl", "curl x", True),
        ("curl", "bash -c 'curl x'", True),
        ("curl", "bash -o pipefail -c curl", True),
        ("curl", "sudo -u x curl y", True),
        ("curl", "xargs -n 1 curl", True),
        ("curl", "grep curl x", False),
        ("curl", "# a note \\\ncurl x", True),
        ("curl", "cu\\\nrl x", True),
        ("rm -rf", "rm -f -r x", True),
        ("rm -rf", "rm --recursive --force x", True),
        ("rm -rf", "rm -r x", False),
        ("git push --force", "git push origin -f", True),
        ("git push --force", "git push origin main --force", True),
        ("git push --force", "git push $OPTIONS", True),
        ("git push --force", "git push origin", False),
        ("python -m pytest", "python -u -m pytest", True),
        ("python -m pytest", "python -mpytest", True),
        ("python -m pytest", "python -m pip", False),
        ("git commit -m 'a b'", "git commit -m 'a b'", True),
    ],
)
def test_a_denied_command_is_known_by_program_words_and_flags(rule: str, command: str, denied: bool) -> None:
    settings = SafetySettings(allow=("*",), dangerous_commands=(), deny=(f"run_command({rule})",))
    assert (judge(run_command, settings, command=command).decision == "deny") == denied


@pytest.mark.parametrize("command", ['echo "$(' * 10_000, "eval '" * 15_000, "git -a " * 15_000])
def test_the_longest_line_of_which_not_all_can_be_told_is_never_just_run(command: str) -> None:
    settings = SafetySettings(mode="auto", allow=("*",), deny=("run_command(git push)",))
    assert judge(run_command, settings, command=command).decision in ("ask", "deny")


class TestPaths:
    """Rules and arguments are compared as places in a real project."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> ProjectRoot:
        for folder in ("docs", "src", "src2", "secrets"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "k").touch()
        (tmp_path / "setup.py").touch()
        (tmp_path / "src/link").symlink_to("../secrets/k")
        (tmp_path / "docs/link").symlink_to("../src/k")
        (tmp_path / "src/todocs").symlink_to("../docs/k")
        (tmp_path / "alias").symlink_to("secrets")
        return ProjectRoot(tmp_path)

    @staticmethod
    def decide(root: ProjectRoot, name: str, settings: SafetySettings, **arguments: Json) -> str:
        tool = next(tool for tool in TOOLS if tool.name == name)
        return Policy(settings).judge(tool, tool.parse(dict(arguments)), root.relative).decision

    @pytest.mark.parametrize(
        ("path", "decision"),
        [
            ("docs/k", "allow"),
            ("./docs/new/k", "allow"),
            ("src/../docs/k", "allow"),
            ("docs/../setup.py", "ask"),
            ("docs2/k", "ask"),
            ("docs/link", "ask"),
            ("src/todocs", "ask"),
        ],
    )
    @pytest.mark.parametrize("rule", ["edit_file(docs/)", "edit_file(docs)", "edit_file(./docs)", "*(docs)"])
    def test_an_allowed_folder_is_what_is_in_it(self, root: ProjectRoot, path: str, decision: str, rule: str) -> None:
        settings = SafetySettings(allow=(rule,))
        found = self.decide(root, "edit_file", settings, file_path=path, old_string="a", new_string="b")
        assert found == decision

    @pytest.mark.parametrize("path", ["secrets/k", "./secrets/k", "src/../secrets/k", "src/link", "alias/k", "secrets"])
    @pytest.mark.parametrize("rule", ["read_file(secrets/)", "read_file(alias)", "*(secrets)"])
    def test_a_denied_folder_is_denied_by_every_name(self, root: ProjectRoot, path: str, rule: str) -> None:
        settings = SafetySettings(deny=(rule,))
        assert self.decide(root, "read_file", settings, file_path=path) == "deny"
        assert self.decide(root, "read_file", settings, file_path=str(root.path / path)) == "deny"
        assert self.decide(root, "read_file", settings, file_path="src/k") == "allow"

    @pytest.mark.parametrize(
        ("rule", "asks"), [("read_file(secrets/)", True), ("*(secrets)", True), ("read_file", False)]
    )
    def test_what_is_asked_before_reading_is_asked_whatever_shows_it(
        self, root: ProjectRoot, rule: str, asks: bool
    ) -> None:
        settings = SafetySettings(ask=(rule,))
        decision = "ask" if asks else "allow"
        assert self.decide(root, "search_files", settings, pattern="x", path="alias") == decision
        assert self.decide(root, "analyze_code", settings, path="secrets/k") == decision
        assert self.decide(root, "git_diff", settings, file_path="secrets") == decision
        assert self.decide(root, "search_files", settings, pattern="x") == "allow"

    def test_a_denied_file_is_that_file_only(self, root: ProjectRoot) -> None:
        settings = SafetySettings(deny=("read_file(src/k)",))
        assert self.decide(root, "read_file", settings, file_path="src/k") == "deny"
        assert self.decide(root, "read_file", settings, file_path="src/k2") == "allow"

    def test_listing_and_searching_are_judged_by_their_folder(self, root: ProjectRoot) -> None:
        settings = SafetySettings(deny=("list_files(secrets/)", "search_files(secrets)"))
        assert self.decide(root, "list_files", settings, path="src/../secrets") == "deny"
        assert self.decide(root, "search_files", settings, pattern="x", path="secrets/deep") == "deny"
        assert self.decide(root, "search_files", settings, pattern="secrets/", path="src") == "allow"
        assert self.decide(root, "list_files", settings) == "allow"

    def test_a_commit_is_judged_by_all_its_files(self, root: ProjectRoot) -> None:
        deny = SafetySettings(allow=("git_commit",), deny=("git_commit(secrets/)",))
        assert self.decide(root, "git_commit", deny, message="m", files=["src/k", "secrets/k"]) == "deny"
        assert self.decide(root, "git_commit", deny, message="m", files=["src/k"]) == "allow"
        allow = SafetySettings(allow=("git_commit(docs/)",))
        assert self.decide(root, "git_commit", allow, message="m", files=["docs/k"]) == "allow"
        assert self.decide(root, "git_commit", allow, message="m", files=["docs/k", "src/k"]) == "ask"
        assert self.decide(root, "git_commit", allow, message="m") == "ask"

    def test_a_path_outside_is_a_violation_and_a_rule_about_one_is_not(self, root: ProjectRoot) -> None:
        settings = SafetySettings(deny=("read_file(/etc)",))
        assert self.decide(root, "read_file", settings, file_path="src/k") == "allow"
        with pytest.raises(SafetyViolationError) as refused:
            self.decide(root, "read_file", settings, file_path="../x")
        assert refused.value.key == "path_outside"

    def test_the_folder_a_command_runs_in_is_no_path_of_a_rule(self, root: ProjectRoot) -> None:
        settings = SafetySettings(allow=("*",), deny=("*(secrets)",))
        assert self.decide(root, "run_command", settings, command="ls", working_dir="secrets") == "allow"


class TestCheckRules:
    TOOLS = (edit_file, read_file, run_command)

    @pytest.mark.parametrize(
        "rule",
        [
            "*",
            "edit_file",
            "explore",
            " read_file(src/) ",
            "*(secrets)",
            "read_file(app/[id]/page.tsx)",
            "run_command(python -m pytest)",
            "run_command(git commit -m 'a b')",
        ],
    )
    def test_good_rules_pass(self, rule: str) -> None:
        check_rules(SafetySettings(allow=(rule,), deny=(rule,)), self.TOOLS)

    @each(
        "rule",
        [
            "",
            "run_command(ls",
            "run_command ls",
            "run_command()",
            "run_command(git push:*)",
            "run_command(a && b)",
            "run_command(git 'push)",
            "edit_file(*.py)",
            "edit_file(/etc)",
            "edit_file(~/x)",
            "edit_file(a/../../x)",
            "read_file(a\0b)",
            f"write_file({'a' * 256})",
            f"read_file({'a/' * 64})",
        ],
    )
    @each("setting", ["allow", "deny"])
    def test_a_rule_that_could_never_match_is_an_error(self, setting: str, rule: str) -> None:
        settings = SafetySettings(allow=(rule,)) if setting == "allow" else SafetySettings(deny=(rule,))
        with pytest.raises(ConfigurationError) as found:
            check_rules(settings, self.TOOLS)
        assert found.value.key == "rule_malformed"
        assert f"safety.{setting}: “{rule}”" in str(found.value)

    def test_a_tool_that_does_not_exist_is_an_error_that_names_the_nearest(self) -> None:
        with pytest.raises(ConfigurationError) as found:
            check_rules(SafetySettings(deny=("run_comand(git push)",)), self.TOOLS)
        assert found.value.params["nearest"] == "run_command"
        assert "run_comand(git push)" in str(found.value)


def test_a_rule_for_all_commands_allows_none_that_a_denied_one_may_hide_in() -> None:
    hidden = "echo Z2l0IHB1c2g= | base64 -d | sh"
    allowing = SafetySettings(allow=("*",))
    assert judge(run_command, allowing, command=hidden).decision == "allow"
    forbidding = SafetySettings(allow=("*",), deny=("run_command(git push)",))
    assert judge(run_command, forbidding, command=hidden).decision == "ask"
    assert judge(run_command, forbidding, command="ls -l").decision == "allow"


def test_what_is_denied_to_the_file_tools_is_closed_to_commands() -> None:
    deny = ("read_file(secrets/)", "write_file(docs)", "edit_file(a.txt)", "run_command(git push)", "read_file")
    assert closed_to_commands(SafetySettings(deny=deny)) == (["secrets"], ["docs", "a.txt"])


@tool(risk=Risk.HIGH, paths=("file_path",), writes=("file_path",))
async def write_file(context: ToolContext, file_path: str) -> ToolOutput:
    """Write."""
    raise AssertionError("judged, not run")


@pytest.mark.parametrize("mode", ["auto-edit", "auto"])
def test_a_text_that_other_assistants_obey_is_asked_about_unless_the_user_named_it(mode: Mode) -> None:
    policy = Policy(SafetySettings(mode=mode))

    def judged(path: str, said: str = "", policy: Policy = policy) -> Verdict:
        return policy.judge(write_file, {"file_path": path}, lambda path: path, Situation(said=said))

    assert judged("src/a.py").decision == "allow"
    verdict = judged("sub/AGENTS.md", "tidy up the docs")
    assert (verdict.decision, verdict.why, verdict.lasting) == ("ask", "instruction", True)
    assert judged("sub/AGENTS.md", "bring agents.md up to date").decision == "allow"
    allowing = Policy(SafetySettings(mode=mode, allow=("write_file(sub/)",)))
    assert judged("sub/AGENTS.md", policy=allowing).decision == "allow"


@tool(risk=Risk.HIGH)
async def git_commit(context: ToolContext) -> ToolOutput:
    """Commit."""
    raise AssertionError("judged, not run")


def test_a_commit_whose_hooks_have_a_network_asks_once_text_from_the_web_is_there() -> None:
    policy = Policy(SafetySettings(mode="auto"))
    for network, decision in ((True, "ask"), (False, "allow")):
        judged = policy.judge(git_commit, {}, str, Situation(tainted=True, network=network))
        assert (judged.decision, judged.why) == (decision, "untrusted" if network else "")


@pytest.mark.anyio
async def test_of_a_commit_it_is_the_listed_hosts_that_count(tmp_path: Path) -> None:
    for hosts in ((), ("a.example",)):
        folder = tmp_path / f"p{len(hosts)}"
        folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        (folder / "a.py").write_text("x = 1\n")
        person = Answering(approve=False)
        tools = make_tools(folder, confirmer=person, safety=SafetySettings(mode="auto", network_hosts=hosts))
        tools.taint()
        await tools.execute_tool("git_commit", message="Add a", files=["a.py"])
        assert [one.tool for one in person.asked] == ["git_commit"] * len(hosts)
