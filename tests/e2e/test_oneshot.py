"""The program as a person runs it once: a real process, a server on loopback, a project with a bug."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from localllm.base.events import AgentEvent, RunFinished, TextDelta, ThinkingDelta, ToolFinished, decode
from localllm.sessions.log import read_session
from tests.support.wire_server import Reply, WireServer, calls, cassette, delta, fails, says, sse

BUG = "def total(prices, discount=0.0):\n    return sum(prices) * discount\n"
FIXED = "def total(prices, discount=0.0):\n    return sum(prices) * (1 - discount)\n"
TEST = (
    "import unittest\nfrom prices import total\n\n\nclass T(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
EDIT = ("edit_file", {"file_path": "prices.py", "old_string": "* discount", "new_string": "* (1 - discount)"})
RUN_TESTS = ("run_command", {"command": "python3 -m unittest -q"})
FIX = [
    calls(("read_file", {"file_path": "prices.py"}), text="I will read it."),
    calls(EDIT),
    calls(RUN_TESTS),
    says("Fixed **prices.py**: 割引の計算を直しました。"),
]


DELTAS = (TextDelta, ThinkingDelta)


def lean(event: AgentEvent) -> AgentEvent:
    """Without what the model has read, which the log has once."""
    return msgspec.structs.replace(event, payload={}) if isinstance(event, ToolFinished) else event


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text(BUG)
    (root / "test_prices.py").write_text(TEST)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@t.example", "commit", "-qm", "start")
    return root


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def environment(root: Path) -> dict[str, str]:
    """A user of his own: no settings, no keys, no state from outside."""
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(home), "LANG": "C.UTF-8", "LOCALLLM_STATE_DIR": str(home / "state")}


def kept_sessions(root: Path) -> list[Path]:
    """The logs of all sessions that the program has kept for this user."""
    return list((root.parent / "home" / "state" / "sessions").glob("*/*.jsonl"))


def start(root: Path, *arguments: str, stdin: int = subprocess.DEVNULL, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "localllm", *arguments],
        cwd=root,
        env=environment(root) | variables,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def localllm(
    root: Path, *arguments: str, given: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    process = start(root, *arguments, stdin=subprocess.DEVNULL if given is None else subprocess.PIPE, **variables)
    out, err = process.communicate(given, timeout=50)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def configure(root: Path, url: str) -> None:
    chosen = '[llm]\nprovider = "lmstudio"\nmodel = "m"\n'
    (root / "localllm.toml").write_text(f'{chosen}[llm.lmstudio]\nbase_url = "{url}"\n')


class TestOddStarts:
    def test_in_a_folder_that_is_gone(self, project: Path) -> None:
        command = f"mkdir gone && cd gone && rmdir ../gone && {shlex.quote(sys.executable)} -m localllm"
        for arguments in ("-p hi", "models"):
            done = subprocess.run(
                ["sh", "-c", f"{command} {arguments}"],
                cwd=project,
                env=environment(project) | {"PYTHONPATH": str(Path(__file__).parents[2])},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=50,
                check=False,
            )
            assert (done.returncode, "E1034" in done.stderr) == (2, True), done.stderr

    def test_without_standard_streams(self, project: Path) -> None:
        with WireServer([says("hi")]) as server:
            configure(project, server.url)
            command = f"{shlex.quote(sys.executable)} -m localllm -p hello <&- >&- 2>&-"
            done = subprocess.run(["sh", "-c", command], cwd=project, env=environment(project), timeout=50, check=False)
        assert done.returncode == 0
        assert len(server.requests) == 1


class TestWork:
    def test_a_bug_is_fixed_and_nothing_else_changes(self, project: Path) -> None:
        with WireServer(FIX) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix the failing test", "--yes")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "Fixed **prices.py**: 割引の計算を直しました。\n"
        assert (project / "prices.py").read_text() == FIXED
        assert git(project, "diff", "--name-only").split() == ["prices.py"]
        assert "-    return sum(prices) * discount" in git(project, "diff")
        tested = server.bodies()[-1]["messages"][-1]
        assert tested["role"] == "tool"
        assert "OK" in tested["content"]

    def test_the_session_log_holds_the_events_of_the_stream(self, project: Path) -> None:
        with WireServer(FIX) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix it", "--yes", "--output", "stream-json")
        streamed = [decode(line) for line in done.stdout.splitlines()]
        (log,) = kept_sessions(project)
        assert [lean(event) for event in read_session(log).events] == [
            lean(event) for event in streamed if not isinstance(event, DELTAS)
        ]
        assert isinstance(streamed[-1], RunFinished)
        assert ".localllm" not in git(project, "status", "--porcelain"), "the folder ignores itself"

    def test_json_holds_the_whole_result(self, project: Path) -> None:
        with WireServer(FIX) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix it", "--yes", "--output", "json")
        result = json.loads(done.stdout)
        assert result["success"]
        assert result["model"] == "m"
        assert result["steps"] == 4
        assert result["usage"]["cached_tokens"] == 60
        assert [tool["name"] for tool in result["tools"]] == ["read_file", "edit_file", "run_command"]

    @pytest.mark.parametrize("output", ["text", "json", "stream-json"])
    def test_an_answer_that_breaks_off_is_whole_in_the_end(self, project: Path, output: str) -> None:
        first, second = "The discount is applied ", "the wrong way round."
        with WireServer([Reply(sse(delta(content=first)), cut=True), says(second)]) as server:
            if output != "stream-json":  # nothing was shown: it is asked for anew
                server.replies[1] = says(first + second)
            configure(project, server.url)
            done = localllm(project, "-p", "What is wrong?", "--output", output)
        assert done.returncode == 0, done.stderr
        assert (server.requests[0] == server.requests[1]) == (output != "stream-json")
        match output:
            case "text":
                assert done.stdout == f"{first}{second}\n"
            case "json":
                assert json.loads(done.stdout)["answer"] == first + second
            case _:
                streamed = [decode(line) for line in done.stdout.splitlines()]
                shown = "".join(event.text for event in streamed if isinstance(event, TextDelta))
                assert shown == first + second

    @pytest.mark.parametrize(
        ("language", "said"), [("C.UTF-8", "gave no answer"), ("ja_JP.UTF-8", "回答しませんでした")]
    )
    def test_a_model_that_only_thinks_ends_with_a_report(self, project: Path, language: str, said: str) -> None:
        thought = Reply(sse(delta(reasoning_content="I know."), delta("stop"), "[DONE]"))
        with WireServer([calls(("read_file", {"file_path": "prices.py"})), thought]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "What is wrong?", LANG=language)
        assert (done.returncode, len(server.requests)) == (3, 4)
        assert said in done.stdout
        assert "read_file prices.py" in done.stdout

    def test_piped_input_is_added_to_the_prompt(self, project: Path) -> None:
        with WireServer([says("ok")]) as server:
            configure(project, server.url)
            localllm(project, "-p", "Explain this", given="ValueError: 値\n")
        sent = server.bodies()[0]["messages"][1]["content"]
        assert sent.startswith("Explain this\n\n<stdin>\nValueError: 値\n</stdin>")

    def test_the_scripted_demo_needs_no_server(self, project: Path) -> None:
        (project / "README.md").write_text("# Shop\n")
        done = localllm(project, "-p", "What is here?", "--provider", "scripted")
        assert done.returncode == 0
        assert "no model is connected" in done.stdout
        assert "no model is connected" in done.stderr

    def test_the_scripted_demo_speaks_the_language_of_the_program(self, project: Path) -> None:
        (project / "README.md").write_text("# Shop\n")
        done = localllm(project, "--lang", "ja", "-p", "何がありますか", "--provider", "scripted")
        assert done.returncode == 0
        assert "モデルには接続しておらず" in done.stdout


class TestSafety:
    def test_without_yes_nothing_is_changed_and_the_answer_says_so(self, project: Path) -> None:
        with WireServer([calls(EDIT), says("I could not.")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix it")
        assert done.returncode == 4
        assert (project / "prices.py").read_text() == BUG
        assert done.stdout.startswith("I could not.")
        assert "edit_file prices.py" in done.stdout
        assert "--yes" in done.stdout

    @pytest.mark.parametrize(
        ("mode", "text", "exit_code", "said"),
        [("auto-edit", FIXED, 0, ""), ("plan", BUG, 0, "plan mode"), ("ask", BUG, 4, "--mode")],
    )
    def test_a_mode_permits_it_or_not(self, project: Path, mode: str, text: str, exit_code: int, said: str) -> None:
        with WireServer([calls(EDIT), says("There.")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix it", "--mode", mode)
        assert (project / "prices.py").read_text() == text
        assert done.returncode == exit_code
        assert said in server.bodies()[-1]["messages"][-1]["content"]

    def test_an_allow_rule_of_the_user_permits_it(self, project: Path) -> None:
        rules = project.parent / "config"
        rules.mkdir()
        (rules / "localllm.toml").write_text('[safety]\nallow = ["edit_file", "run_command(python3 -m unittest)"]\n')
        with WireServer(FIX) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Fix it", LOCALLLM_CONFIG_DIR=str(rules))
        assert done.returncode == 0, done.stdout
        assert (project / "prices.py").read_text() == FIXED

    def test_an_allow_rule_of_the_project_itself_does_not(self, project: Path) -> None:
        with WireServer([calls(EDIT), says("no")]) as server:
            configure(project, server.url)
            with (project / "localllm.toml").open("a") as file:
                file.write('[safety]\nallow = ["*"]\n')
            done = localllm(project, "-p", "Fix it")
            assert done.returncode == 4
            assert "safety.allow" in done.stderr
            assert (project / "prices.py").read_text() == BUG
            server.replies = list(FIX)
            trusted = localllm(project, "-p", "Fix it", "--trust-project")
        assert trusted.returncode == 0, trusted.stderr

    def test_yes_does_not_cover_dangerous_commands(self, project: Path) -> None:
        with WireServer([calls(("run_command", {"command": "rm -rf ."})), says("no")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Clean up", "--yes")
        assert done.returncode == 4
        assert (project / "prices.py").exists()

    def test_a_command_that_only_reads_needs_no_yes(self, project: Path) -> None:
        with WireServer([calls(("run_command", {"command": "ls | head; cat prices.py"})), says("Read.")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "What is here?")
        assert done.returncode == 0
        assert BUG.splitlines()[0] in server.bodies()[-1]["messages"][-1]["content"]

    def test_a_refused_command_names_the_tools_that_need_no_yes(self, project: Path) -> None:
        with WireServer([calls(("run_command", {"command": "make"})), says("No.")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Build it")
        assert done.returncode == 4
        assert "list_files, read_file and search_files" in server.bodies()[-1]["messages"][-1]["content"]

    @pytest.mark.parametrize(
        ("afterwards", "exit_code"),
        [
            (("run_command", {"command": "rm -r old"}), 0),
            (("run_command", {"command": "ls"}), 4),
            (("run_command", {"command": "false"}), 4),
            (("write_file", {"file_path": "b.txt", "content": "b"}), 4),
            (("read_file", {"file_path": "prices.py"}), 4),
        ],
    )
    def test_a_refusal_that_was_made_up_for_is_listed_and_no_failure(
        self, project: Path, afterwards: tuple[str, dict[str, str]], exit_code: int
    ) -> None:
        (project / "old").mkdir()
        refused = ("run_command", {"command": "sudo rm -r old"})
        with WireServer([calls(refused), calls(afterwards), says("Removed.")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "Remove old", "--yes", "--output", "json")
        assert done.returncode == exit_code
        assert json.loads(done.stdout)["refused"] == ["run_command sudo rm -r old"]


class TestEndings:
    def test_no_server(self, project: Path) -> None:
        configure(project, "http://127.0.0.1:9")
        done = localllm(project, "-p", "hello")
        assert done.returncode == 5
        assert done.stdout == ""
        assert "E2001" in done.stderr
        assert "127.0.0.1:9" in done.stderr

    @pytest.mark.parametrize(
        ("reply", "code", "exit_code"),
        [
            (Reply(sse(delta(content="half an ans")), cut=True), "E2003", 5),
            (Reply((b"data: {not json\n\n",)), "E2004", 5),
            (cassette("lmstudio/err_404_model"), "E2005", 5),
            (fails(429, headers={"retry-after": "600"}), "E2008", 5),
        ],
    )
    def test_failures_of_the_server(self, project: Path, reply: Reply, code: str, exit_code: int) -> None:
        with WireServer([reply]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "hello", LOCALLLM_LLM_MAX_RETRIES="0")
        assert done.returncode == exit_code
        assert code in done.stderr
        assert done.stdout == ""

    def test_what_passes_is_waited_for(self, project: Path) -> None:
        passing = [fails(500), fails(429, headers={"retry-after": "0.01"}), says("Here.")]
        with WireServer(passing) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "hello")
        assert (done.returncode, done.stdout) == (0, "Here.\n")
        assert done.stderr.count("HTTP 500") == 1
        assert done.stderr.count("HTTP 429") == 1

    def test_a_limit(self, project: Path) -> None:
        looks = [calls(("read_file", {"file_path": "prices.py", "max_lines": number + 1})) for number in range(5)]
        with WireServer(looks) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "look", LOCALLLM_AGENT_MAX_ITERATIONS="2")
        assert done.returncode == 3
        assert "agent.max_iterations" in done.stdout + done.stderr

    def test_an_interrupt(self, project: Path) -> None:
        endless = Reply(sse(delta(content="Once"), delta(content="!")), hold_before=1)
        with WireServer([endless]) as server:
            configure(project, server.url)
            process = start(project, "-p", "tell", "--output", "stream-json")
            assert process.stdout is not None
            for line in process.stdout:
                if '"TextDelta"' in line:
                    process.send_signal(signal.SIGINT)
                    break
            rest, err = process.communicate(timeout=30)
            assert server.disconnected.wait(5)
        assert process.returncode == 130
        assert '"status":"interrupted"' in rest.splitlines()[-1]
        assert "Traceback" not in err

    @pytest.mark.parametrize(
        "arguments",
        [("-p", "  "), ("-p", "x", "--output", "yaml"), ("--nonsense",), ("-p", "x", "--provider", "gemeni")],
    )
    def test_usage_errors(self, project: Path, arguments: tuple[str, ...]) -> None:
        done = localllm(project, *arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr

    def test_bad_settings_name_file_line_and_the_nearest_key(self, project: Path) -> None:
        (project / "localllm.toml").write_text("[llm]\n\nmodle = 'x'\n")
        done = localllm(project, "--trust-project", "-p", "hello")
        assert done.returncode == 2
        assert "localllm.toml:3" in done.stderr
        assert "llm.model" in done.stderr

    def test_errors_speak_japanese_to_a_japanese_user(self, project: Path) -> None:
        configure(project, "http://127.0.0.1:9")
        done = localllm(project, "-p", "こんにちは", LANG="ja_JP.UTF-8")
        assert done.returncode == 5
        assert "応答しません" in done.stderr

    def test_a_reader_that_leaves_is_no_error_of_ours(self, project: Path) -> None:
        with WireServer([says("x" * 200_000)]) as server:
            configure(project, server.url)
            process = start(project, "-p", "hello")
            assert process.stdout is not None
            process.stdout.close()
            process.wait(timeout=30)
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
            process.stderr.close()


class TestCommandLine:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--yes",), "-p"),
            (("--output", "json"), "-p"),
            (("-p", "x", "--script", "a.toml", "--provider", "lmstudio"), "--script"),
            (("-p", "x", "--script", "a.toml", "--base-url", "http://localhost:1"), "--script"),
            (("-p", "x", "--base-url", "http://localhost:1", "--provider", "scripted"), "--base-url"),
            (("-p", "x", "--base-url", "http://localhost:abc"), "base_url"),
            (("-p", "x", "--base-url", "ftp://localhost"), "base_url"),
        ],
    )
    def test_what_would_be_passed_over_in_silence_is_an_error_of_usage(
        self, project: Path, arguments: tuple[str, ...], said: str
    ) -> None:
        done = localllm(project, *arguments)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr

    def test_a_rule_that_can_never_match_is_an_error(self, project: Path) -> None:
        done = localllm(project, "-p", "x", LOCALLLM_SAFETY_DENY="run_comand")
        assert done.returncode == 2
        assert "run_command" in done.stderr

    def test_a_fault_of_the_program_is_told_without_a_trace(self, project: Path) -> None:
        faulty = (
            "import sys; from localllm.cli import main as start; import localllm.cli.main as program;"
            "program.find_project = lambda _folder: 1 / 0; sys.argv[1:] = ['-p', 'x']; start()"
        )
        process = subprocess.run(
            [sys.executable, "-c", faulty],
            cwd=project,
            env=environment(project),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 1
        assert "E1090" in process.stderr
        assert "Traceback" not in process.stderr

    def test_a_key_never_reaches_the_screen_or_the_log(self, project: Path) -> None:
        with WireServer([fails(401, "bad key")]) as server:
            configure(project, server.url)
            done = localllm(project, "-p", "x", LMSTUDIO_API_KEY="sk-SECRET-123\n")
        assert done.returncode == 5
        assert "LMSTUDIO_API_KEY" in done.stderr
        logs = [
            file.read_text()
            for file in project.parent.rglob("*")
            if file.is_file() and file.suffix in (".log", ".jsonl")
        ]
        assert logs
        assert "SECRET" not in done.stdout + done.stderr + "".join(logs)
