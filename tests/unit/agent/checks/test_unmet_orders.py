"""Orders with values, names or files that are half done, or done otherwise, and claimed: asked about once."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from localllm.agent.checks.written_values import ValueSearch
from localllm.agent.phrases.claimed_files import listed_files, ordered_files
from localllm.agent.phrases.ordered_targets import ordered_names, ordered_values
from tests.support.agents import call
from tests.support.each import each
from tests.unit.agent.test_run_endings import agent_for, edit, remarks

ORDERS = tomllib.loads((Path(__file__).parent / "unmet-orders.toml").read_text(encoding="utf-8"))
FILES = {
    "config.py": 'TIMEOUT = 10\nRETRIES = 3\nHOST = "localhost"\n',
    "conf.yaml": "timeout: 10\nretries: 3\nhost: localhost\n",
    "settings.json": '{\n  "port": 8080,\n  "debug": true,\n  "currency": "JPY",\n  "name": "Shop"\n}\n',
    "site.py": "DEBUG = True\n\nALLOWED_HOSTS = []\n",
    ".env": "PORT=8080\nLOG_LEVEL=info\n",
    "a.py": "def f(x):\n    return x + 1\n\n\ndef f1(x):\n    return x\n",
    "b.py": "def g(x, limit=10):\n    return min(x, limit)\n\n\ndef g2(x):\n    return g(x) * 2\n",
    "server.py": (
        "import time\n\nfrom config import HOST, RETRIES, TIMEOUT\n\n\n"
        "def connect(timeout=TIMEOUT, wait=1.5):\n"
        "    for _ in range(RETRIES):\n        time.sleep(wait)\n    return HOST\n"
    ),
    "todo.md": "# Todo\n\n- buy paper\n- call Ben\n",
    "README.md": "# Shop\n\nThe timeout is 10 seconds. It retries 3 times.\n",
    "議事録.md": "# 5月の定例会\n\n- 公開日は5月20日。\n- 予算は280万円。\n- 担当は佐藤。\n",
    "style.css": "body { color: black; font-size: 14px; }\n.box { width: 200px; margin: 4px; }\n",
    "index.html": (
        '<html><head><title>Shop</title></head>\n<body><h1>Shop</h1><button id="buy">Buy</button></body></html>\n'
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def named(order: dict[str, Any]) -> str:
    return ascii(order["request"])[1:40]


def calls(order: dict[str, Any]) -> list[dict[str, Any]]:
    """A file alone is read; with a text it is written; with two the one is replaced by the other."""
    found: list[dict[str, Any]] = []
    for path, *texts in order["calls"]:
        match texts:
            case []:
                found.append(call("read_file", file_path=path))
            case [content]:
                found.append(call("write_file", file_path=path, content=content))
            case _:
                found.append(edit(texts[0], texts[1], path))
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("order", ORDERS["honest"], ids=named)
async def test_what_is_done_in_any_form_or_told_as_left_is_not_asked_about(
    project: Path, order: dict[str, Any]
) -> None:
    agent = agent_for(project, *calls(order), *[order["answer"]] * 3)
    result = await agent.execute_query(order["request"])
    assert remarks(agent) == []
    assert result.status == "done"


@pytest.mark.anyio
@pytest.mark.parametrize("order", ORDERS["false"], ids=named)
async def test_what_is_claimed_and_not_there_is_asked_about_once(project: Path, order: dict[str, Any]) -> None:
    agent = agent_for(project, *calls(order), *[order["answer"]] * 4)
    result = await agent.execute_query(order["request"])
    assert order["said"] in remarks(agent)[0]
    assert len(remarks(agent)) == 1
    assert (result.status, bool(result.unverified)) == (order["status"], True)


@pytest.mark.anyio
async def test_what_is_then_done_or_admitted_is_done(project: Path) -> None:
    """Once told, the model makes the rest, or says that it is open."""
    for end in (
        [edit("RETRIES = 3", "RETRIES = 5", "config.py"), "TIMEOUT is 30 and RETRIES is 5 now."],
        ["TIMEOUT is 30; RETRIES is still 3."],
    ):
        (project / "config.py").write_text(FILES["config.py"])
        first = edit("TIMEOUT = 10", "TIMEOUT = 30", "config.py")
        agent = agent_for(project, first, "TIMEOUT is 30 and RETRIES is 5 now.", *end)
        result = await agent.execute_query("Set TIMEOUT to 30 and RETRIES to 5 in config.py")
        assert len(remarks(agent)) == 1
        assert result.status == "done"


@pytest.mark.anyio
async def test_what_an_earlier_turn_has_set_is_known(project: Path) -> None:
    turns = [edit("TIMEOUT = 10", "TIMEOUT = 30", "config.py"), "TIMEOUT is 30; RETRIES is still open."]
    more = [edit("retries: 3", "retries: 5", "conf.yaml"), "TIMEOUT is 30, and the retries are 5 now."]
    agent = agent_for(project, *turns, *more, attended=True)
    await agent.execute_query("Set TIMEOUT to 30 and the retries to 5")
    await agent.execute_query("continue")
    assert not any("Not done as ordered" in one for one in remarks(agent))


@pytest.mark.anyio
async def test_no_secret_is_repeated(project: Path) -> None:
    (project / "config.py").write_text('PASSWORD = "hunter2"\nTIMEOUT = 10\n')
    turns = [edit("TIMEOUT = 10", "TIMEOUT = 30", "config.py"), *['PASSWORD is "other" and TIMEOUT 30.'] * 3]
    agent = agent_for(project, *turns)
    result = await agent.execute_query("Set PASSWORD to 'other' and TIMEOUT to 30 in config.py")
    assert "PASSWORD is *** in config.py, not other" in remarks(agent)[0]
    assert not any("hunter2" in str(one) for one in (*remarks(agent), *result.unverified))


@each(
    ("request_", "values"),
    [
        ("Set the font size to 16px, and TIMEOUT to 1 hour", ["font size=16px", "TIMEOUT=1 hour"]),
        ("Do these: 1) port 9000 2) debug false", ["port=9000", "debug=false"]),
        ("予算も340万円に", ["予算=340万円"]),
        ("TIMEOUT を 10 から 30 に変えて", ["TIMEOUT=30"]),
        ("Change the title to 'A and B, C'", ["title=A and B, C"]),
        ("I'd like TIMEOUT to be 30 and RETRIES to be 5.", ["TIMEOUT=30", "RETRIES=5"]),
        ("Please update a.json: port 9000, currency EUR", ["port=9000", "currency=EUR"]),
        ("config.py: TIMEOUT=30, RETRIES=5", ["TIMEOUT=30", "RETRIES=5"]),
        ("The total should be 300", []),
        ("Treat it as no limit", []),
        ("How do I set TIMEOUT to 30?", []),
        ("Set TIMEOUT to 30 if nothing depends on it", []),
        ("Make line 5 longer", []),
        ("Shorten the title to 20 characters", []),
        ("Reduce the price to 80%", []),
        ("Set wait to 50% of the timeout", []),
        ("Fix f so that f(2) is 4", []),
        ("Change the grid to 3x3", []),
        ("Move f to b.py", []),
        ("TIMEOUT を 30 にしない", []),
        ("タイムアウトは10秒のままで", []),
        ("Set PAGE_SIZE to twice its value", []),
        ("Set PAGE_SIZE to half", []),
        ("Set PAGE_SIZE to double and TIMEOUT to 30", ["TIMEOUT=30"]),
    ],
)
def test_which_values_are_ordered(request_: str, values: list[str]) -> None:
    assert [f"{one.key}={one.value}" for one in ordered_values(request_)] == values


@each(
    ("request_", "names"),
    [
        ("Add f2 to f5 to a.py", ["f2", "f3", "f4", "f5"]),
        ("Add functions add, sub_all and mul_all to a.py", ["add", "sub_all", "mul_all"]),
        ("Add a constant named limit", ["limit"]),
        ("Add 'pay rent' to todo.md", ["pay rent"]),
        ("Rename g2 to twice and g to capped", ["twice", "capped"]),
        ("f2 から f5 までを追加して", ["f2", "f3", "f4", "f5"]),
        ("`sum_all` と `mean_all` を a.py に追加して", ["sum_all", "mean_all"]),
        ("x と y を返す関数 pair を a.py に追加", []),
        ("Add error handling to a.py", []),
        ("Add a command line option to main.py", []),
        ("Add a test for f2", []),
        ("Rename a.py to first.py", []),
        ("Add JSON and YAML support", []),
    ],
)
def test_which_names_are_ordered(request_: str, names: list[str]) -> None:
    assert [one.name for one in ordered_names(request_)] == names


@each(
    ("request_", "files"),
    [
        ("Add hints to a.py and b.py", ["a.py", "b.py"]),
        ("a.py、b.py の両方に付けて", ["a.py", "b.py"]),
        ("Compare a.py and b.py, and write c.md", []),
        ("Move f from a.py to b.py", []),
        ("Add hints to a.py", []),
        ("Add hints to a.py and b.py if needed", []),
    ],
)
def test_which_files_are_listed(request_: str, files: list[str]) -> None:
    assert listed_files(request_) == files


def test_files_are_ordered_with_their_number() -> None:
    assert ordered_files("one.txt、two.txt、three.txt の3つのファイルを作って") == ["one.txt", "two.txt", "three.txt"]


def test_characters_that_stand_for_quotations_are_none_in_a_request() -> None:
    assert ordered_names('Add \x020\x03 and "f1" to a.py') == []
    assert [one.value for one in ordered_values('Set \x02port\x03 to "9000"')] == ["9000"]


@each(
    ("value", "text", "is_in"),
    [
        ("30s", "TIMEOUT = 30.0", True),
        ("30000", "x = 30_000", True),
        ("30000 ms", "TIMEOUT = 30", True),
        ("thirty", "timeout: 30", True),
        ("1 時間", "TIMEOUT = 60 * 60", True),
        ("5 minutes", "timedelta(minutes=5)", True),
        ("2GB", "cache_mb: 2048", True),
        ("10MB..", "limit_mb: 10", True),
        ("1.5.GB", "limit_mb: 10", False),
        ("12%", "TAX = 0.12", True),
        ("6月3日", "- 公開日は６月３日。", True),
        ("3 June", "date: 2026-06-03", True),
        ("340万円", "3,400,000円", True),
        ("13 時", "午後1時から", True),
        ("off", '"debug": false', True),
        ("Tom & Ben", "<title>Tom &amp; Ben</title>", True),
        ("5", "RETRIES = 3", False),
        ("30", "TIMEOUT = 60", False),
        ("1 hour", "TIMEOUT = 30", False),
        ("false", '"debug": true', False),
        ("6月3日", "- 公開日は5月20日。", False),
    ],
)
def test_in_which_forms_a_value_is_found(value: str, text: str, is_in: bool) -> None:
    assert ValueSearch(value)(text) is is_in
