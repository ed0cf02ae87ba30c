"""A stuck agent asks others: a real process, and a model server on loopback for each of them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from localllm.base.events import Consulted, MessageCompleted, RunFinished, decode
from localllm.sessions.log import read_session
from tests.e2e.test_oneshot import kept_sessions
from tests.support.sandbox_world import level_here
from tests.support.tmux import TMUX, Tmux
from tests.support.wire_server import Reply, WireServer, calls, says

needs_tmux = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")

Messages = Sequence[dict[str, Any]]

READY = f" {level_here()} · "
DOWN = "http://127.0.0.1:9"
BUG = "def total(prices):\n    return sum(prices) * 0\n"
FIXED = "def total(prices):\n    return sum(prices)\n"
FAILING = ("edit_file", {"file_path": "prices.py", "old_string": "return sum(p) * rate - 1", "new_string": "x"})
GOOD = ("edit_file", {"file_path": "prices.py", "old_string": "sum(prices) * 0", "new_string": "sum(prices)"})
READ = ("read_file", {"file_path": "prices.py"})
WISDOM = "The text you look for is not in the file."
PLAN = {
    "verdict": "old_string was guessed",
    "next_action": "edit the line return sum(prices) * 0",
    "avoid": "the same edit again",
    "check": "read prices.py",
    "confidence": 0.9,
}


class Model(WireServer):
    """A server whose answers depend on what it is asked."""

    def __init__(self, answer: Callable[[Messages], Reply]) -> None:
        super().__init__([])
        self._answer = answer

    def next_reply(self, body: bytes) -> Reply:
        self.requests.append(body)
        return self._answer(json.loads(body)["messages"])


def stubborn(plan: str) -> Callable[[Messages], Reply]:
    """A model that reads, then repeats a failing edit until somebody tells it `plan`."""

    def answer(messages: Messages) -> Reply:
        called = [call["function"]["arguments"] for said in messages for call in said.get("tool_calls", ())]
        if not called:
            return calls(READ)
        if not any(plan in str(said["content"]) for said in messages):
            return calls(FAILING)
        return says("Fixed prices.py.") if json.dumps(GOOD[1]) in called else calls(GOOD)

    return answer


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "prices.py").write_text(BUG)
    return root


def environment(root: Path) -> dict[str, str]:
    """A user of his own: no settings, no keys, no state from outside."""
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(home), "LANG": "C.UTF-8", "LOCALLLM_STATE_DIR": str(home / "state")}


def configure(root: Path, main: str, **roles: str) -> None:
    lines = ["[llm]", 'provider = "openai"', "max_retries = 0", "[llm.openai]", f'base_url = "{main}"']
    for role, url in roles.items():
        lines += [f"[agents.panel.{role}]", 'provider = "openai"', f'model = "{role}-model"', f'base_url = "{url}"']
    (root / "localllm.toml").write_text("\n".join(lines) + "\n")


def localllm(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "localllm", "--trust-project", *arguments],
        cwd=root,
        env=environment(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def consulted(root: Path) -> Sequence[Consulted]:
    (log,) = kept_sessions(root)
    return [event for event in read_session(log).events if isinstance(event, Consulted)]


def answers(plan: dict[str, Any]) -> Reply:
    return says(json.dumps(plan))


def system_texts(server: WireServer) -> list[str]:
    return [body["messages"][0]["content"] for body in server.bodies()]


def test_a_stuck_model_is_warned_then_advised_and_then_succeeds(project: Path) -> None:
    plan = PLAN["next_action"]
    with Model(stubborn(plan)) as main, WireServer([says(WISDOM)]) as bold, WireServer([answers(PLAN)]) as judge:
        configure(project, main.url, conservative=DOWN, progressive=bold.url, judge=judge.url, boss=DOWN)
        done = localllm(project, "-p", "Fix the total", "--yes", "--output", "stream-json")
    events = [decode(line) for line in done.stdout.splitlines()]
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert (done.returncode, finished.status, finished.answer) == (0, "done", "Fixed prices.py."), done.stderr
    used = [event.usage.prompt_tokens for event in events if isinstance(event, MessageCompleted | Consulted)]
    assert finished.usage.prompt_tokens == sum(used), "what the advisers use is counted"
    assert (project / "prices.py").read_text() == FIXED

    (event,) = consulted(project)
    assert event.kind == "panel"
    assert [(one.role, one.model) for one in event.opinions] == [
        ("progressive", "progressive-model"),
        ("judge", "judge-model"),
    ]
    (left_out,) = event.left_out
    assert left_out.startswith("conservative (openai conservative-model): ")
    assert f"Next: {plan}" in event.plan

    asked, judged = bold.bodies()[0]["messages"], judge.bodies()[0]["messages"]
    assert [len(server.requests) for server in (bold, judge)] == [1, 1]
    results = [said["content"] for said in main.bodies()[-1]["messages"] if said["role"] == "tool"]
    error = results[1].split("\n\n")[0]
    assert "old_string" in error
    for messages in (asked, judged):
        assert error in messages[1]["content"], "the dossier holds the exact error"
        assert "Fix the total" in messages[1]["content"]
        assert "return sum(prices) * 0" in messages[1]["content"], "and the file it is about"
    assert WISDOM in judged[1]["content"]
    assert "progressive" not in judged[1]["content"]
    last = main.bodies()[-1]["messages"]
    assert sum(plan in str(said["content"]) for said in last) == 1, "only the plan enters the history"
    assert not any(WISDOM in str(said["content"]) for said in last)
    assert "◆ Panel: Verdict: old_string was guessed" in done.stderr
    assert "! Left out: conservative (openai conservative-model): " in done.stderr


def test_the_panel_is_shown_files_without_what_was_said_to_the_model(project: Path) -> None:
    def reads_again(messages: Messages) -> Reply:
        is_told = any(PLAN["next_action"] in str(said["content"]) for said in messages)
        return says("It adds up to nothing.") if is_told else calls(READ, ("read_file", {"file_path": "nope.py"}))

    with Model(reads_again) as main, WireServer([answers(PLAN)]) as others:
        configure(project, main.url, conservative=others.url, progressive=others.url, judge=others.url)
        done = localllm(project, "-p", "What is wrong with prices.py and nope.py?", "--yes")
    assert done.returncode == 0, done.stderr
    assert "You go round in circles" in str(main.bodies()[-1]["messages"])
    for body in others.bodies():
        files = body["messages"][1]["content"].partition("## From the files\n\n")[2].partition("\n\n## ")[0]
        assert files == f"prices.py, lines 1-2:\n{BUG.rstrip()}"


@pytest.mark.parametrize("arguments", [(), ("--lang", "ja")])
def test_a_boss_who_cannot_be_asked_is_named_with_the_reason(project: Path, arguments: tuple[str, ...]) -> None:
    plan = PLAN["next_action"]
    with (
        Model(stubborn(plan)) as main,
        WireServer([says(WISDOM)]) as others,
        WireServer([answers(PLAN | {"confidence": 0.2})]) as judge,
    ):
        configure(project, main.url, conservative=others.url, progressive=others.url, judge=judge.url, boss=DOWN)
        done = localllm(project, "-p", "Fix the total", "--yes", *arguments)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    left_out, name = ("不参加: ", "親分") if "ja" in arguments else ("Left out: ", "boss")
    assert told.count(f"! {left_out}{name} (openai boss-model): ") == 1, done.stderr
    assert DOWN.removeprefix("http://") in told.partition(left_out)[2]


def test_one_that_stays_stuck_asks_the_boss_and_stops_with_a_report(project: Path) -> None:
    unsure = PLAN | {"confidence": 0.2}
    big = PLAN | {"next_action": "ask the person for the file"}
    with (
        Model(stubborn("no such advice")) as main,
        WireServer([says(WISDOM)]) as others,
        WireServer([answers(unsure)]) as judge,
        WireServer([answers(big)]) as boss,
    ):
        configure(project, main.url, conservative=others.url, progressive=others.url, judge=judge.url, boss=boss.url)
        done = localllm(project, "-p", "Fix the total", "--yes")
    assert done.returncode == 3, done.stderr
    assert (project / "prices.py").read_text() == BUG
    assert boss.requests
    first = boss.bodies()[0]["messages"][1]["content"]
    assert "## Advice given earlier" in first
    assert PLAN["verdict"] in first
    kinds = [event.kind for event in consulted(project)]
    assert kinds[:2] == ["panel", "boss"]
    for part in ("Fix the total", "edit_file prices.py", "ask the person for the file"):
        assert part in done.stdout


def test_with_nobody_to_ask_it_goes_on_alone_and_says_so(project: Path) -> None:
    with Model(stubborn("no such advice")) as main:
        configure(project, main.url, conservative=DOWN, progressive=DOWN, judge=DOWN, boss=DOWN)
        done = localllm(project, "-p", "Fix the total", "--yes")
    assert done.returncode == 3, done.stderr
    assert all(not event.plan for event in consulted(project))
    for role in ("conservative", "progressive", "boss"):
        assert f"{role} (openai {role}-model): " in " ".join(done.stderr.split())


def test_a_panel_that_is_off_is_not_asked(project: Path) -> None:
    with Model(stubborn("no such advice")) as main:
        configure(project, main.url)
        with (project / "localllm.toml").open("a") as file:
            file.write("[agents.panel]\nenabled = false\n")
        done = localllm(project, "-p", "Fix the total", "--yes")
    assert done.returncode == 3, done.stderr
    assert consulted(project) == []


Open = Callable[..., Tmux]


@pytest.fixture
def open_chat() -> Iterator[Open]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "shop"
        root.mkdir()
        opened: list[Tmux] = []

        def start(settings: str, *arguments: str, columns: int = 120, language: str = "C.UTF-8") -> Tmux:
            (root / "localllm.toml").write_text(settings, encoding="utf-8")
            (root / "prices.py").write_text(BUG)
            variables = environment(root) | {"LANG": language}
            command = [sys.executable, "-m", "localllm", "--trust-project", *arguments]
            chat = Tmux(root, command, environ=variables, columns=columns, rows=40)
            opened.append(chat)
            chat.wait(READY)
            return chat

        yield start
        for chat in opened:
            chat.close()


def settings_of(url: str) -> str:
    return f'[llm]\nprovider = "openai"\nmax_retries = 0\n[llm.openai]\nbase_url = "{url}"\n'


@needs_tmux
def test_by_hand_the_opinions_stand_side_by_side_and_the_plan_goes_along(open_chat: Open) -> None:
    careful = "まずファイルを読みましょう。推測で編集してはいけません。"
    replies = [says("It is a shop."), says(careful), says(WISDOM), answers(PLAN), says("I have read it.")]
    with WireServer(replies) as server:
        chat = open_chat(settings_of(server.url), columns=120)
        chat.say("What is @prices.py?")
        chat.wait("It is a shop.", READY)
        chat.say("/panel 合計を直すには？")
        shown = chat.wait("◆ Panel · Plan · confidence 90 %", "The agent reads the plan", READY)
        chat.say("Go on")
        chat.wait("I have read it.", READY)
    (columns,) = [row for row in shown.splitlines() if "conservative · openai m" in row]
    assert "progressive · openai m" in columns
    assert "judge · openai m" in columns
    assert "まずファイルを読みましょう" in shown
    before, *members, after = server.bodies()
    assert len(members) == 3
    for body in (*members, after):
        assert body["messages"][: len(before["messages"])] == before["messages"], "the prefix stays"
        assert body["tools"] == before["tools"]
    answer, question = members[0]["messages"][-2:]
    assert answer["content"] == "It is a shop."
    assert "## Goal\n合計を直すには？\n" in question["content"]
    assert "language of the goal" in question["content"]
    last = server.bodies()[-1]["messages"]
    assert PLAN["next_action"] in last[-1]["content"]
    assert last[-1]["content"].endswith("Go on")


@needs_tmux
def test_in_the_chat_a_boss_who_cannot_be_asked_is_named_with_the_reason(open_chat: Open) -> None:
    plan = PLAN["next_action"]
    unsure = WireServer([says(WISDOM), says(WISDOM), answers(PLAN | {"confidence": 0.2})])
    with Model(stubborn(plan)) as main, unsure as others:
        settings = settings_of(main.url)
        for role, url in {"conservative": others.url, "progressive": others.url, "judge": others.url}.items():
            settings += f'[agents.panel.{role}]\nbase_url = "{url}"\n'
        chat = open_chat(f'{settings}[agents.panel.boss]\nbase_url = "{DOWN}"\n', "--mode", "auto")
        chat.say("Fix the total")
        chat.wait("! Left out: boss (openai ", "Fixed prices.py.", READY)


@needs_tmux
def test_what_is_written_while_they_are_asked_is_seen_and_comes_next(open_chat: Open) -> None:
    held = Reply(says("Read it.").pieces, hold_head=True)
    with WireServer([held, says("Rewrite it."), answers(PLAN), says("I have read it.")]) as server:
        chat = open_chat(settings_of(server.url))
        chat.say("/panel What now?")
        chat.wait("asking the panel")
        chat.type("and 日本語")
        chat.wait("asking the panel", "› and 日本語")
        chat.press("Tab")
        chat.wait("asking the panel", "next: and 日本語", gone="› and 日本語")
        server.released.set()
        shown = chat.wait("I have read it.", READY)
    assert "next:" not in shown
    assert shown.index("The agent reads the plan") < shown.index("› and 日本語") < shown.index("I have read it.")


@needs_tmux
def test_by_hand_at_80_columns_and_in_japanese(open_chat: Open) -> None:
    with WireServer([says("注意してください。"), says("書き直しましょう。"), answers(PLAN)]) as server:
        chat = open_chat(settings_of(server.url), "--lang", "ja", columns=80, language="ja_JP.UTF-8")
        chat.say("/panel どうすればよい？")
        shown = chat.wait("◆ 三賢者の協議 · 結論 · 確信度 90 %", "次の依頼のとき")
    assert "│" not in shown
    assert shown.index("慎重派 · openai m") < shown.index("積極派 · openai m") < shown.index("判定役 · openai m")
    assert "次の手順: edit the line" in shown


@needs_tmux
def test_a_consultation_can_be_interrupted_and_the_chat_goes_on(open_chat: Open) -> None:
    held = Reply(says("never").pieces, hold_head=True)
    with WireServer([held, says("Still here.")]) as server:
        chat = open_chat(settings_of(server.url), columns=80)
        chat.say("/boss What now?")
        chat.wait("asking the boss · ")
        chat.press("C-c")
        chat.wait("Interrupted.", READY, gone="asking the boss")
        server.released.set()
        chat.say("Are you there?")
        chat.wait("Still here.", READY)


@needs_tmux
def test_without_any_server_it_says_what_to_do(open_chat: Open) -> None:
    chat = open_chat('[llm]\nprovider = "embedded"\n', columns=80)
    chat.say("/panel What now?")
    chat.wait("E2070", "There is no model to ask.", "[agents.panel]", READY)
    chat.say("/panel")
    chat.wait("/panel QUESTION")
