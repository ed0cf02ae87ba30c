"""Research tasks as cron runs them: due ones once, however many runners there are, also after one was killed."""

import configparser
import json
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from localllm.research.tasks import TaskStore
from tests.support.research_cli import PATIENCE, ResearchWorld, research_world

FAST = ("--preset", "fast", "--max-search", "3", "--max-validation", "0")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ResearchWorld]:
    with research_world(tmp_path) as world:
        yield world


def add(world: ResearchWorld, *arguments: str) -> str:
    added = world.run("task", "add", world.question.text, *FAST, *arguments)
    assert added.returncode == 0, added.stderr
    return added.stdout.strip()


def test_a_task_is_run_and_its_report_is_in_the_history(world: ResearchWorld) -> None:
    name = add(world)
    ran = world.run("task", "run", "--due")
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).name == f"report-{name}.md"
    written = yaml.safe_load((world.work / "task" / f"{name}.yaml").read_text("utf-8"))
    assert (written["status"], [run["id"] for run in written["runs"]]) == ("completed", [name])
    [report] = world.json("history", "list", "--json")["reports"]
    assert (report["id"], report["status"]) == (name, "success")
    assert "No task is due." in world.run("task", "run", "--due").stderr
    again = world.json("research", "--task-id", name, "--output", "json")["tasks"]
    assert [one["status"] for one in again] == ["success"]
    assert again[0]["id"] != name, "a second run has an id of its own"
    metadata = yaml.safe_load(next(world.work.glob(f"history/{again[0]['id']}/*.meta.yaml")).read_text("utf-8"))
    assert (metadata["task_id"], metadata["run_id"]) == (name, again[0]["id"])


def test_two_runners_at_once_never_run_a_task_twice(world: ResearchWorld) -> None:
    names = sorted(add(world) for _ in range(4))
    runners = [world.begin("task", "run", "--due", "--output", "json") for _ in range(2)]
    done: list[str] = []
    for runner in runners:
        out, said = runner.communicate(timeout=PATIENCE)
        assert runner.returncode == 0, said
        done += [task["id"] for task in json.loads(out)["tasks"] if task["status"] == "success"]
    assert sorted(done) == names
    assert {task.status for task in TaskStore(world.work).all()[0]} == {"completed"}
    assert len(list(world.work.glob("history/*/report-*.md"))) == 4


def test_a_task_of_a_killed_runner_is_gone_on_with(world: ResearchWorld) -> None:
    name = add(world)
    world.hold(4)
    runner = world.begin("task", "run", "--due")
    assert world.is_holding.wait(PATIENCE)
    other = world.run("task", "run", "--due", "--output", "json")
    assert [one["status"] for one in json.loads(other.stdout)["tasks"]] == ["running"]
    runner.kill()
    runner.communicate(timeout=PATIENCE)
    assert TaskStore(world.work).read(name).status == "running"
    asked = [body["messages"] for body in world.model.bodies]
    world.release()
    ran = world.run("task", "run", "--due", "--output", "json")
    assert [(one["id"], one["status"]) for one in json.loads(ran.stdout)["tasks"]] == [(name, "success")]
    later = [body["messages"] for body in world.model.bodies][len(asked) :]
    assert not any(prompt in later for prompt in asked[:-1]), "what was answered is not asked again"


def test_stopped_by_the_user_it_is_due_as_before(world: ResearchWorld) -> None:
    name = add(world, "--every", "1d")
    world.hold(3)
    runner = world.begin("task", "run", name)
    assert world.is_holding.wait(PATIENCE)
    runner.send_signal(signal.SIGINT)
    _out, said = runner.communicate(timeout=PATIENCE)
    assert (runner.returncode, "its run continues" in said) == (130, True)
    world.release()
    task = TaskStore(world.work).read(name)
    assert (task.status, task.unfinished is not None) == ("scheduled", True)
    assert world.run("task", "run", "--due").returncode == 0
    task = TaskStore(world.work).read(name)
    assert task.schedule is not None
    assert (task.status, len(task.runs), task.next_run != task.schedule.at) == ("scheduled", 1, True)


def test_without_a_model_a_task_stays_due(world: ResearchWorld) -> None:
    name = add(world)
    ran = world.run("task", "run", "--due", "--api", "http://127.0.0.1:9/v1")
    assert ran.returncode == 5, ran.stderr
    task = TaskStore(world.work).read(name)
    assert (task.status, task.runs) == ("scheduled", ())
    assert not world.web.queries


def test_a_failed_run_is_noted_and_gone_on_with_by_hand(world: ResearchWorld) -> None:
    name = add(world)
    world.web.faults.mode = "no_json"
    ran = world.run("task", "run", "--due")
    assert ran.returncode == 1, ran.stderr
    task = TaskStore(world.work).read(name)
    assert (task.status, task.runs[-1].error[:5]) == ("failed", "E7008")
    assert "No task is due." in world.run("task", "run", "--due").stderr
    world.web.faults.mode = ""
    assert world.run("task", "run", name).returncode == 0
    task = TaskStore(world.work).read(name)
    assert (task.status, [run.id for run in task.runs]) == ("completed", [name])


def test_a_file_that_cannot_be_read_stops_nobody(world: ResearchWorld) -> None:
    name = add(world)
    (world.work / "task" / "2020-0001.yaml").write_text("prompt: [")
    ran = world.run("task", "run", "--due")
    assert (ran.returncode, "E6004" in ran.stderr) == (0, True)
    listed = world.run("task", "list")
    assert (listed.returncode, name in listed.stdout, "E6004" in listed.stderr) == (1, True, True)


def test_all_that_wait_are_run_before_they_are_due_but_not_those_of_others_in_a_project(world: ResearchWorld) -> None:
    name = add(world, "--at", "2100-01-01 09:00")
    assert world.run("task", "run", "--all").returncode == 0
    assert TaskStore(world.work).read(name).status == "completed"
    inside = world.project / "work"
    shutil.copytree(world.work / "task", inside / "task")
    store = TaskStore(inside)
    store.write(msgspec.structs.replace(store.read(name), status="scheduled", runs=()))
    asked = len(world.web.queries)
    for command in (("task", "run", "--all"), ("research", "--task-all")):
        refused = world.run(*command, "--work-dir", str(inside))
        assert (refused.returncode, "E7074" in refused.stderr) == (2, True), refused.stderr
        store.write(msgspec.structs.replace(store.read(name), status="scheduled"))
    assert len(world.web.queries) == asked


def test_times_bounds_and_what_is_asked_before_deleting(world: ResearchWorld) -> None:
    name = add(world, "--at", "2100-01-01 09:00", "--sites", "example.org,b.example")
    assert "No task is due." in world.run("task", "run", "--due").stderr
    shown = yaml.safe_load(world.run("task", "show", name).stdout)
    assert shown["options"]["sites"] == ["example.org", "b.example"]
    assert shown["next_run"].startswith("2100-01-01T09:00")
    for wrong in (("--max-validation", "11"), ("--every", "3y"), ("--sites", "no host")):
        refused = world.run("task", "add", "Why?", *wrong)
        assert refused.returncode == 2, refused.stderr
    assert "E6008" in world.run("task", "delete", name).stderr
    assert world.run("task", "delete", name, "--yes").returncode == 0
    assert world.json("task", "list", "--json")["tasks"] == []


def test_a_folder_that_cannot_be_searched_is_refused_at_once(world: ResearchWorld) -> None:
    (world.project / "file.md").write_text("text")
    for folder in ("misspelt", "file.md"):
        refused = world.run("task", "add", "Why?", "--docs", folder)
        assert (refused.returncode, "E7010" in refused.stderr, folder in refused.stderr) == (2, True, True)
    assert world.json("task", "list", "--json")["tasks"] == []


def test_the_units_are_ones_that_systemd_takes(world: ResearchWorld) -> None:
    folder = world.project / "with blank"
    folder.mkdir()
    written = world.run("task", "units", str(folder), "--minutes", "30")
    assert written.returncode == 0, written.stderr
    units = [folder / name for name in ("localllm-tasks.service", "localllm-tasks.timer")]
    read = [configparser.RawConfigParser(strict=True) for _ in units]
    for parser, unit in zip(read, units, strict=True):
        parser.read(unit, "utf-8")
    service, timer = read
    assert service["Service"]["Type"] == "oneshot"
    command = shlex.split(service["Service"]["ExecStart"])
    assert command[-5:] == ["task", "run", "--due", "--work-dir", str(world.work)]
    assert (timer["Timer"]["OnUnitInactiveSec"], timer["Install"]["WantedBy"]) == ("30min", "timers.target")
    if analyze := shutil.which("systemd-analyze"):
        judged = subprocess.run(
            [analyze, "--user", "verify", *map(str, units)],
            env={**world.environment(), "XDG_RUNTIME_DIR": str(world.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (judged.returncode, judged.stderr) == (0, ""), judged.stderr
    printed = world.run("task", "units", "--print").stdout
    assert "*/15 * * * * cd " in printed


def test_units_take_any_name_without_control_characters(world: ResearchWorld) -> None:
    for name, code in (("新しい\u3000フォルダー\u00a0👩‍🔬", 0), ("torn\nname", 2), ("bell\x07", 2)):
        printed = world.run("task", "units", "--print", "--work-dir", str(world.folder / name))
        assert printed.returncode == code, printed.stderr


def test_no_unit_is_written_through_a_link_that_leads_out_of_a_project(world: ResearchWorld) -> None:
    folder = world.folder / "clone"
    (folder / ".git").mkdir(parents=True)
    kept = world.folder / "kept"
    kept.write_text("precious")
    (folder / "localllm-tasks.timer").symlink_to("../kept")
    written = world.run("task", "units", str(folder))
    assert (written.returncode, "It is a link" in written.stderr) == (2, True)
    assert kept.read_text() == "precious"
