"""The page of `localllm serve` as a user starts it, with the example's ensemble, and the log afterwards."""

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.ensemble_page import Visit
from tests.support.serving import ServeWorld

EXAMPLE = Path(__file__).parents[3] / "examples" / "ensemble"


def test_the_page_and_the_log_of_a_served_ensemble(tmp_path: Path, visit: Visit) -> None:
    world = ServeWorld(tmp_path)
    shutil.copytree(EXAMPLE, world.project, dirs_exist_ok=True)
    with world.serving("--config", "config.json") as server:
        visitor = visit(server)
        visitor.ask("What is the capital of Australia?")
        visitor.wait()
        assert "Canberra" in visitor.answer()
        assert visitor.page.locator(".column[data-state=failed]").count() == 1
        visitor.ask("Are you sure?")
        visitor.page.locator(".turn").nth(1).wait_for()
        visitor.wait()
        runs: list[dict[str, Any]] = []
        while len(runs) < 2:  # a thread writes them, and the server is killed at the end
            runs = json.loads(world.run("serve", "--history", "--json").stdout)["runs"]
    assert [run["prompt"] for run in runs] == ["Are you sure?", "What is the capital of Australia?"]
    assert [run["turns"] for run in runs] == [2, 0]
    assert "Canberra" in runs[0]["final_answer"]
    counted = json.loads(world.run("serve", "--stats", "--json").stdout)
    assert sorted(one["failed"] for one in counted["workers"]) == [0, 0, 2]
    whole = world.run("serve", "--history", runs[1]["run_id"][:12])
    assert "What is the capital of Australia?" in whole.stdout


def test_no_log_writes_nothing(tmp_path: Path, visit: Visit) -> None:
    world = ServeWorld(tmp_path)
    shutil.copytree(EXAMPLE, world.project, dirs_exist_ok=True)
    with world.serving("--config", "config.json", "--no-log") as server:
        visitor = visit(server)
        visitor.ask("What is the capital of Australia?")
        visitor.wait()
    assert list(tmp_path.rglob("requests.*")) == []
    assert json.loads(world.run("serve", "--history", "--json").stdout)["runs"] == []
