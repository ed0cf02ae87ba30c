"""The paper's API over real HTTP: its JSON to the letter, its statuses, conversations, the stream of events."""

import json
import socket
from typing import Any, get_args

import httpx
import pytest

from localllm.base.i18n import set_language
from localllm.ensemble.hosts import HostReport, ServedModel
from localllm.ensemble.records import EnsembleResult, StrategyName
from localllm.ensemble.server.options import ServerOptions
from localllm.llm.messages import AssistantMessage, UserMessage
from tests.support.each import each
from tests.support.ensemble_server import REVIEWER, WORKERS, ScriptedEnsemble, config, refused, scripted, until

PAPER_KEYS = ["final_answer", "review_comment", "worker_responses", "metadata"]


def events(response: httpx.Response) -> list[tuple[str, Any]]:
    """The events of a stream, without comments."""
    frames = [frame for frame in response.text.split("\n\n") if frame and not frame.startswith(":")]
    pairs = [frame.split("\n", 1) for frame in frames]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in pairs]


def test_answers_as_the_paper_says() -> None:
    with scripted() as server:
        response = server.client.post("/generate", json={"prompt": "Capital of France?"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    runtime = body.pop("runtime")
    assert body == {
        "final_answer": "Paris.",
        "review_comment": "Both are right.",
        "worker_responses": [{"agent_name": name, "response": f"{name} says: Paris."} for name in WORKERS],
        "metadata": {
            "total_workers": 2,
            "successful_workers": 2,
            "failed_workers": 0,
            "processing_time_seconds": 1.234,
        },
    }
    assert list(body) == PAPER_KEYS
    assert runtime["strategy"] == "review"
    assert runtime["usage"]["total_tokens"] == 30
    assert "conversation_id" not in runtime


def test_a_failed_worker_stands_among_the_others() -> None:
    with scripted(ScriptedEnsemble(errors=(refused(), None))) as server:
        response = server.client.post("/generate", json={"prompt": "Capital?"})
    body = response.json()
    assert response.status_code == 200
    assert body["final_answer"] == "Paris."
    assert body["metadata"]["failed_workers"] == 1
    failed, answered = body["worker_responses"]
    assert failed["agent_name"] == WORKERS[0]
    assert failed["response"].startswith("Error: ")
    assert "\n" not in failed["response"]
    assert answered["response"] == f"{WORKERS[1]} says: Paris."
    assert body["runtime"]["workers"][0]["error_code"] == "E2003"


def test_errors_are_in_the_language_of_the_process() -> None:
    with scripted(ScriptedEnsemble(errors=(refused(), None))) as server:
        set_language("ja")
        try:
            body = server.client.post("/generate", json={"prompt": "首都は？"}).json()
            blank = server.client.post("/generate", json={"prompt": "　"}).json()
        finally:
            set_language("en")
    assert body["worker_responses"][0]["response"].startswith("エラー: ")
    assert blank["review_comment"].startswith("エラー: ")


def test_a_failed_reviewer_is_500_with_what_the_workers_said() -> None:
    with scripted(ScriptedEnsemble(reviewer_error=refused())) as server:
        response = server.client.post("/generate", json={"prompt": "Capital?"})
    body = response.json()
    assert response.status_code == 500
    assert list(body) == [*PAPER_KEYS, "runtime", "error"]
    assert body["final_answer"] == body["worker_responses"][0]["response"] == f"{WORKERS[0]} says: Paris."
    assert body["review_comment"].startswith("Error: ")
    assert body["runtime"]["fallback"] == WORKERS[0]
    assert body["error"]["code"] == "E2003"
    assert body["metadata"]["successful_workers"] == 2


def test_without_any_answer_it_is_502_with_each_error() -> None:
    with scripted(ScriptedEnsemble(errors=(refused(), refused()))) as server:
        response = server.client.post("/generate", json={"prompt": "Capital?"})
    body = response.json()
    assert response.status_code == 502
    assert list(body) == [*PAPER_KEYS, "runtime", "error"]
    assert body["final_answer"] == ""
    assert all(one["response"].startswith("Error: ") for one in body["worker_responses"])
    assert all(name in body["error"]["message"] for name in WORKERS)
    assert list(body["metadata"].values())[:3] == [2, 0, 2]


def test_an_unknown_strategy_is_answered_with_the_known_ones() -> None:
    with scripted(ScriptedEnsemble()) as server:
        response = server.client.post("/generate", json={"prompt": "a", "strategy": "guess"})
    message = response.json()["error"]["message"]
    assert all(word in message for word in ("guess", *get_args(StrategyName)))


@each(
    "body, status, code",
    [
        (b'{"prompt": ""}', 422, "E1160"),
        ('{"prompt": " \\n\u3000\\u00a0\\u200b"}'.encode(), 422, "E1160"),
        (b'{"prompt": "\\u0000"}', 422, "E1160"),
        (b"{}", 422, "E1162"),
        (b'{"prompt": 3}', 422, "E1162"),
        (b'{"prompt": null}', 422, "E1162"),
        (b"[]", 422, "E1162"),
        (b'{"prompt": "a", "strategy": "guess"}', 422, "E1162"),
        (b'{"prompt": "a", "conversation_id": "a b"}', 422, "E1162"),
        (b'{"prompt": "a", "conversation_id": "a\\n"}', 422, "E1162"),
        (b"", 400, "E1161"),
        (b"prompt=a", 400, "E1161"),
        (b'{"prompt": "\xff"}', 400, "E1161"),
        (b'{"prompt": "\\ud800"}', 400, "E1161"),
        (b'{"prompt": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "E1161"),
        ('{"prompt": "a"}'.encode("utf-16"), 400, "E1161"),
    ],
)
def test_what_is_no_question_asks_no_worker(body: bytes, status: int, code: str) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        for path in ("/generate", "/generate/stream"):
            response = server.client.post(path, content=body)
            answered = response.json()
            assert (response.status_code, answered["error"]["code"]) == (status, code)
            assert list(answered) == [*PAPER_KEYS, "runtime", "error"]
            assert answered["final_answer"] == ""
            assert set(answered["metadata"].values()) == {0}
    assert ensemble.questions == []


@each(
    "body, prompt",
    [
        ('{"prompt": "質問 🙂"}'.encode(), "質問 🙂"),
        (b'\xef\xbb\xbf{"prompt": "a"}', "a"),
        (b'{"prompt": " a\\u0000b "}', " a\x00b "),
        (b'{"prompt": "\\ud83d\\ude42"}', "🙂"),
        (b'{"prompt": "a", "unknown": {"deep": [1, 2]}}', "a"),
    ],
)
def test_questions_arrive_as_they_are(body: bytes, prompt: str) -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        assert server.client.post("/generate", content=body).status_code == 200
    assert [question.prompt for question in ensemble.questions] == [prompt]


def test_a_content_type_that_is_not_json_is_refused() -> None:
    with scripted() as server:
        for given, status in [
            ("application/json; charset=utf-8", 200),
            ("application/vnd.api+json", 200),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
        ]:
            headers = {"content-type": given}
            response = server.client.post("/generate", content=b'{"prompt": "a"}', headers=headers)
            assert response.status_code == status, given


def test_a_conversation_goes_on() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        first = server.client.post("/generate", json={"prompt": "Capital of France?", "conversation_id": "trip"}).json()
        second = server.client.post("/generate", json={"prompt": "And its river?", "conversation_id": "trip"}).json()
        server.client.post("/generate", json={"prompt": "Another matter."})
    assert [one["runtime"]["conversation_turns"] for one in (first, second)] == [0, 1]
    assert {one["runtime"]["conversation_id"] for one in (first, second)} == {"trip"}
    assert [question.history for question in ensemble.questions] == [
        (),
        (UserMessage("Capital of France?"), AssistantMessage("Paris.")),
        (),
    ]


def test_a_conversation_begins_under_an_id_of_the_servers() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        asked = {"prompt": "q", "conversation_id": ""}
        begun = [server.client.post("/generate", json=asked).json() for _ in range(2)]
        ids = [one["runtime"]["conversation_id"] for one in begun]
        server.client.post("/generate", json={"prompt": "more", "conversation_id": ids[0]})
    assert len(set(ids)) == 2
    assert all(len(one) >= 32 for one in ids)
    assert [len(question.history) for question in ensemble.questions] == [0, 0, 2]


def test_what_failed_is_not_remembered() -> None:
    ensemble = ScriptedEnsemble(errors=(refused(), refused()))
    with scripted(ensemble) as server:
        asked = {"prompt": "q", "conversation_id": "a"}
        assert server.client.post("/generate", json=asked).status_code == 502
        ensemble.errors = (None, None)
        assert server.client.post("/generate", json=asked).json()["runtime"]["conversation_turns"] == 0


def test_a_request_may_name_its_strategy() -> None:
    ensemble = ScriptedEnsemble()
    with scripted(ensemble) as server:
        for strategy in ("vote", None):
            server.client.post("/generate", json={"prompt": "q", "strategy": strategy})
    assert [question.strategy for question in ensemble.questions] == ["vote", None]


def test_events_tell_the_run_as_it_goes() -> None:
    with scripted(ScriptedEnsemble(errors=(None, refused()))) as server:
        asked = {"prompt": "Capital?", "conversation_id": "a"}
        response = server.client.post("/generate/stream", json=asked)
        whole = server.client.post("/generate", json=asked).json()
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in events(response)]
    assert names == [
        "start",
        "worker_text",
        "worker_end",
        "worker_error",
        "review_start",
        "review_text",
        "review_text",
        "result",
    ]
    told = dict(events(response))
    assert told["start"]["workers"] == list(WORKERS)
    assert told["start"]["conversation_id"] == told["result"]["runtime"]["conversation_id"] == "a"
    assert told["worker_text"] == {"worker": 0, "text": "It is "}
    assert told["worker_end"] == {
        "worker": 0,
        "agent_name": WORKERS[0],
        "seconds": 0.25,
        "response": f"{WORKERS[0]} says: Paris.",
    }
    assert told["worker_error"]["response"].startswith("Error: ")
    assert told["worker_error"]["error"]["code"] == "E2003"
    assert told["review_start"] == {"reviewer": REVIEWER}
    review = [data for name, data in events(response) if name == "review_text"]
    assert "".join(data["text"] for data in review) == "## Evaluation\nBoth are right.\n\n## Final answer\nParis."
    assert "".join(data.get("comment", "") for data in review).strip() == "Both are right."
    assert told["result"]["final_answer"].startswith("".join(data.get("answer", "") for data in review))
    assert {key: told["result"][key] for key in PAPER_KEYS} == {key: whole[key] for key in PAPER_KEYS}
    assert told["result"]["runtime"]["status"] == 200


@pytest.mark.parametrize(
    ("ensemble", "status"),
    [(ScriptedEnsemble(errors=(refused(), refused())), 502), (ScriptedEnsemble(reviewer_error=refused()), 500)],
)
def test_a_stream_ends_with_the_status_it_would_have_had(ensemble: ScriptedEnsemble, status: int) -> None:
    with scripted(ensemble) as server:
        response = server.client.post("/generate/stream", json={"prompt": "Capital?"})
    name, result = events(response)[-1]
    assert name == "result"
    assert result["runtime"]["status"] == status
    assert result["error"]["code"]


@each(
    "stream, accept, streams",
    [
        (True, "text/event-stream", True),
        (True, "application/json, text/event-stream;q=0.5", True),
        (True, "application/json", False),
        (True, "*/*", False),
        (False, "text/event-stream", False),
    ],
)
def test_generate_streams_where_the_configuration_and_the_client_say_so(
    stream: bool, accept: str, streams: bool
) -> None:
    with scripted(settings=lambda: config(stream=stream)) as server:
        response = server.client.post("/generate", json={"prompt": "q"}, headers={"accept": accept})
    assert response.headers["content-type"].startswith("text/event-stream") is streams


def test_a_fault_in_the_middle_of_a_stream_is_told() -> None:
    with scripted(ScriptedEnsemble(crash=RuntimeError("secret detail"))) as server:
        streamed = server.client.post("/generate/stream", json={"prompt": "q"})
        whole = server.client.post("/generate", json={"prompt": "q"})
    name, error = events(streamed)[-1]
    assert (name, error["code"]) == ("error", "E1090")
    assert whole.status_code == 500
    assert whole.json()["error"]["code"] == "E1090"
    assert "secret detail" not in streamed.text + whole.text


def test_health_and_agents_as_the_paper_says() -> None:
    async def report() -> tuple[HostReport, ...]:
        url = "http://user:secret@127.0.0.1:11434?key=secret"
        models = (ServedModel("llama3:8b", window=8_192, is_loaded=True),)
        return HostReport(url, WORKERS, models, limit=1), HostReport(url, WORKERS, (), error=refused())

    with scripted(report=report) as server:
        health = server.client.get("/health").json()
        agents = server.client.get("/agents").json()
    assert set(health) == {"status", "timestamp"}
    assert health["status"] == "ok"
    assert len(health["timestamp"]) == len("2025-11-18T10:30:00Z")
    assert health["timestamp"].endswith("Z")
    hosts = agents.pop("runtime")["hosts"]
    assert hosts[0]["models"][0]["window"] == 8_192
    assert hosts[0]["agents"] == list(WORKERS)
    assert [host["error"] and host["error"]["code"] for host in hosts] == [None, "E2003"]
    assert "secret" not in str(hosts)
    url = "http://127.0.0.1:11434/api/chat"
    assert agents == {
        "reviewer": {"name": REVIEWER, "model": "llama3:70b", "api_url": url},
        "workers": [{"name": name, "model": "llama3:8b", "api_url": url} for name in WORKERS],
    }


def test_agents_are_those_of_the_configuration_that_holds_now() -> None:
    holding = [config()]
    with scripted(settings=lambda: holding[0]) as server:
        before = server.client.get("/agents").json()
        agent = holding[0].worker_agents[0]
        holding[0] = type(holding[0])(reviewer_agent=agent, worker_agents=(agent,))
        after = server.client.get("/agents").json()
    assert (len(before["workers"]), len(after["workers"])) == (2, 1)
    assert after["reviewer"]["name"] == WORKERS[0]


@pytest.mark.parametrize("path", ["/generate", "/generate/stream"])
def test_a_run_that_was_broken_off_is_handed_on_as_far_as_it_came(path: str) -> None:
    """Its conversation does not remember it."""
    taken: list[EnsembleResult] = []
    ensemble = ScriptedEnsemble(is_held=True)
    with scripted(ensemble, on_finished=lambda question, result: taken.append(result)) as server:
        content = json.dumps({"prompt": "q", "conversation_id": "c"}).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as leaving:
            leaving.sendall(head.encode() + content)
            until(lambda: ensemble.held == 1)
        until(lambda: taken)
        ensemble.is_held = False
        after = server.client.post("/generate", json={"prompt": "r", "conversation_id": "c"}).json()
    (left, whole) = taken
    assert (left.run_id, left.is_broken_off, left.final_answer) == ("run1", True, "")
    assert [(one.agent, one.is_cancelled, one.error.key) for one in left.answers if one.error] == [
        (name, True, "ensemble_broken_off") for name in WORKERS
    ]
    assert not whole.is_broken_off
    assert after["runtime"]["conversation_turns"] == 0


def test_a_run_that_a_fault_ends_is_not_said_to_have_lost_its_client() -> None:
    taken: list[EnsembleResult] = []
    crashing = ScriptedEnsemble(crash=RuntimeError("a fault"))
    with scripted(crashing, on_finished=lambda question, result: taken.append(result)) as server:
        server.client.post("/generate", json={"prompt": "q"})
    (left,) = taken
    assert [one.error.key for one in left.answers if one.error] == ["internal"] * len(WORKERS)


def test_finished_runs_are_handed_on_and_a_fault_there_loses_no_answer() -> None:
    finished: list[tuple[str, str]] = []

    def take(question: Any, result: Any) -> None:
        finished.append((question.prompt, result.final_answer))
        raise RuntimeError("disk full")

    with scripted(on_finished=take, options=ServerOptions(stop_seconds=0.2)) as server:
        response = server.client.post("/generate", json={"prompt": "q"})
        server.client.post("/generate/stream", json={"prompt": "r"})
    assert response.status_code == 200
    assert finished == [("q", "Paris."), ("r", "Paris.")]
