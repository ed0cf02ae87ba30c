"""`localllm market` from the command line: what is printed, how it ends, and what is kept of it."""

import json
import signal
from pathlib import Path

import jsonschema
import pytest

from localllm.research.market.agent_log import MARKET
from localllm.research.run_store import RunStore
from tests.support.market_cli import MarketWorld, market_world

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "market-schema.json").read_text("utf-8"))


def check_whole(world: MarketWorld, whole: dict[str, object]) -> None:
    """See that a result fits the schema, and each insight's quote stands in a text that was stored."""
    jsonschema.validate(whole, SCHEMA)
    with RunStore(world.work / MARKET / str(whole["executionId"])) as store:
        texts = [str(row.values[1]) for row in store.rows() if row.table == "texts"]
    findings = whole["data"]["findings"]  # type: ignore[index]
    assert len(findings) == 16
    assert all(any(one["quote"] in text for text in texts) for one in findings)


@pytest.mark.parametrize(("theme", "language"), [("スマートシティ", "ja"), ("electric ferries", "en")])
def test_a_theme_end_to_end(tmp_path: Path, theme: str, language: str) -> None:
    with market_world(tmp_path, theme) as world:
        done = world.run("market", theme, "--language", language, "--output", "json")
        assert done.returncode == 0, done.stderr
        whole = json.loads(done.stdout)
        check_whole(world, whole)
        assert whole["data"]["language"] == language
        name = whole["executionId"]
        assert name in world.run("history", "list").stdout
        assert json.loads(world.run("history", "show", name, "--format", "json").stdout) == whole
        heading = {"ja": "# 市場調査：スマートシティ", "en": "# Market scan: electric ferries"}[language]
        assert world.run("history", "show", name).stdout.startswith(heading)
        assert world.run("history", "delete", name, "--yes").returncode == 0
        assert world.run("history", "show", name).returncode == 2


def test_events_are_lines_and_what_is_missing_is_partial(tmp_path: Path) -> None:
    with market_world(tmp_path) as world:
        world.web.outcomes = {"trends": 400}
        done = world.run("market", "スマートシティ", "--pages", "0", "--output", "stream-json", "--export", "m.html")
    assert done.returncode == 3, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [one["type"] for one in events]
    assert kinds[0] == "ScanStarted"
    assert kinds[-1] == "MarketResult"
    assert [one["purpose"] for one in events[-1]["data"]["missing"]] == ["trends"]
    assert "<svg" in (world.project / "m.html").read_text("utf-8")


def test_a_second_scan_is_answered_by_the_cache(tmp_path: Path) -> None:
    with market_world(tmp_path) as world:
        world.run("market", "スマートシティ", "--pages", "0")
        asked = len(world.web.asked)
        world.player.style = 1
        done = world.run("market", "スマートシティ", "--pages", "0", "--output", "json")
        assert json.loads(done.stdout)["metrics"]["cacheHitRate"] >= 0.9
        assert len(world.web.asked) == asked
        world.run("market", "スマートシティ", "--pages", "0", "--no-cache")
        assert len(world.web.asked) == 2 * asked


def test_what_is_wrong_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    with market_world(tmp_path) as world:
        for arguments, said in (
            (["market", "x", "--regions", "mars"], "regions"),
            (["market", "x", "--max-results", "0"], "max_results"),
            (["market", "x", "--pages", "11"], "pages"),
            (["market", " "], "theme"),
            (["--offline", "market", "x"], "web"),
            (["market", "x", "--force"], "--export"),
        ):
            done = world.run(*arguments)
            assert done.returncode == 2, (arguments, done.stderr)
            assert said in done.stderr
            assert "Traceback" not in done.stderr
        world.write_settings(world.settings().replace(world.model.url, "http://127.0.0.1:9"))
        assert world.run("market", "x").returncode == 5
        world.with_key("short")
        done = world.run("market", "x")
        assert done.returncode != 0
        assert "SERPER_API_KEY" in done.stderr
        assert not world.web.asked
        assert not world.player.roles


def test_a_refused_key_is_an_error_without_the_key_and_the_record_stays(tmp_path: Path) -> None:
    key = "f" * 40
    with market_world(tmp_path) as world:
        world.with_key(key)
        done = world.run("market", "スマートシティ")
        assert done.returncode == 1
        assert "E7065" in done.stderr
        assert key not in done.stderr + done.stdout
        assert "スマートシティ" in world.run("history", "list", "--kind", "market").stdout


def test_a_stopped_scan_is_recorded(tmp_path: Path) -> None:
    with market_world(tmp_path) as world:
        world.web.outcomes = {"*": "slow"}
        world.write_settings(world.settings() + "[market]\nsearch_timeout = 30\n")
        process = world.begin("market", "スマートシティ")
        world.web.is_asked.wait(30)
        process.send_signal(signal.SIGINT)
        _out, said = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "localllm history show m-" in said
        assert "スマートシティ" in world.run("history", "list").stdout
