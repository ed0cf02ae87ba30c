"""The program in a Python that has what it has on macOS, with Seatbelt played by bubblewrap, and without a sandbox."""

import subprocess
import sys
from pathlib import Path

import pytest

from localllm.base.events import ToolFinished, decode
from localllm.sandbox.backend import Level
from tests.support.program import Program

MACOS = Path(__file__).parents[1] / "support" / "macos"
START = """
import sys
from localllm.sandbox.macos import seatbelt
seatbelt.PROGRAM = sys.argv.pop(1)
from localllm.cli import main
main()
"""
SCRIPT = """
[[turn]]
calls = [
  { name = "run_command", arguments = { command = "cat ~/secret; echo made > made.txt; ln made.txt other.txt" } },
  { name = "run_command", arguments = { command = "echo bad >> .git/hooks/pre-commit; python3 -c 'print(6 * 7)'" } },
  { name = "run_command", arguments = { command = "echo begun; sleep 30", background = true } },
  { name = "command_output", arguments = { id = 1, stop = true } },
]
[[turn]]
calls = [
  { name = "read_file", arguments = { file_path = "main.py" } },
  { name = "edit_file", arguments = { file_path = "main.py", old_string = "hi", new_string = "ho" } },
  { name = "write_file", arguments = { file_path = "pkg/new.py", content = "x = 1\\n" } },
  { name = "list_files", arguments = { } },
  { name = "search_files", arguments = { pattern = "print" } },
  { name = "analyze_code", arguments = { path = "main.py" } },
  { name = "git_status", arguments = { } },
  { name = "git_diff", arguments = { } },
  { name = "git_commit", arguments = { message = "Greet otherwise" } },
  { name = "git_log", arguments = { } },
]
[[turn]]
text = "Done."
"""


class OnMacOS(Program):
    """The program with the stand-in for sandbox-exec at `seatbelt`; a missing one leaves the level `none`."""

    def __init__(self, folder: Path, level: Level | str) -> None:
        super().__init__(folder, more={"PYTHONPATH": str(MACOS)})
        stand_in = folder / "sandbox-exec"
        if level == "seatbelt":
            stand_in.write_text(f"#!{sys.executable} -IS\n{(MACOS / 'sandbox_exec.py').read_text()}")
            stand_in.chmod(0o755)
        self.command = (sys.executable, "-c", START, str(stand_in))
        (folder / "home").mkdir()
        (folder / "home" / "secret").write_text("nobody's business\n")
        (self.project / "main.py").write_text('print("hi")\n')
        for arguments in (
            "init -q",
            "config user.name T",
            "config user.email t@t.example",
            "add .",
            "commit -qm first",
        ):
            subprocess.run(["git", *arguments.split()], cwd=self.project, check=True)


@pytest.fixture(params=["seatbelt", "none"])
def macos(request: pytest.FixtureRequest, tmp_path: Path) -> OnMacOS:
    return OnMacOS(tmp_path / "mac", request.param)


def is_confined(macos: OnMacOS) -> bool:
    return Path(macos.command[-1]).exists()


def test_the_tools_work(macos: OnMacOS, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    accepted = () if is_confined(macos) else ("--i-accept-no-sandbox",)
    chosen = ("--provider", "scripted", "--script", str(script), "--mode", "auto", "--output", "stream-json")
    done = macos.run("-p", "Do it", *chosen, *accepted)
    events = [decode(line) for line in done.stdout.splitlines()]
    results = [event for event in events if isinstance(event, ToolFinished)]
    assert [result.summary for result in results if not result.success] == [], done.stderr
    said = "\n".join(str(result.payload) for result in results)
    assert "42" in said
    assert "begun" in said
    assert ("nobody's business" in said) != is_confined(macos)
    assert (macos.project / "main.py").read_text() == 'print("ho")\n'
    assert not (macos.project / ".git" / "hooks" / "pre-commit").exists()
    assert done.returncode == 0


def test_doctor_tells_the_level(macos: OnMacOS) -> None:
    told = " ".join(macos.run("doctor").stdout.split())
    if is_confined(macos):
        assert "Commands are sandboxed by the kernel (seatbelt, Darwin 23.6.0)." in told
        assert "This level is experimental" in told
    else:
        assert "Commands cannot be sandboxed on this machine" in told


def test_documents_are_found(macos: OnMacOS) -> None:
    (macos.project / "pump.md").write_text("# Pump\n\nThe pump needs 12 litres of oil in an hour.\n")
    assert macos.run("rag", "ingest", "pump.md", "--collection", "things").returncode == 0
    found = macos.run("rag", "search", "How much oil does the pump need?")
    assert "12 litres" in found.stdout, found.stderr


def test_tasks_run_by_launchd(macos: OnMacOS) -> None:
    written = macos.run("task", "units")
    agent = macos.folder / "home" / "Library" / "LaunchAgents" / "localllm-tasks.plist"
    assert "<string>--due</string>" in agent.read_text(), written.stderr
    assert f"launchctl bootstrap gui/$(id -u) {agent}" in written.stderr + written.stdout
