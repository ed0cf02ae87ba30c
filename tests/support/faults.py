"""What may go wrong with a model server, and what comes of it: the data of the fault matrix and of docs/faults.md."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tests.support.fault_wires import Wire
from tests.support.wire_server import FIXTURES, HANG_UP, Reply

HALF, WHOLE = "Half an ans", "Half an answer."

Again = Literal["no", "once", "often", "loading", "reworded", "continued", "continued once", "asked"]
"""Whether the request is sent again: never, one more time, llm.max_retries times, while the model is loaded, or one
more time and then in another dialect; with what has come, to go on, as often or once; or twice, to get an answer."""

Kept = Literal["whole", "half", "nothing"]
"""How much of the answer is in the conversation afterwards."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong. `reply` is None where nobody takes the connection; `ends` is the error's key, or done
    or limit; `waits`: the server says nothing until the test lets it."""

    name: str
    reply: Callable[[Wire], Reply] | None
    ends: str
    again: Again = "no"
    kept: Kept = "nothing"
    waits: bool = False
    unseen: int = 0
    """How often it is sent again without a word: a connection that was kept open may have been closed meanwhile."""

    def __str__(self) -> str:
        return self.name


def answers(*parts: Callable[[Wire], bytes], **options: Any) -> Callable[[Wire], Reply]:
    """A stream of status 200."""

    def reply(wire: Wire) -> Reply:
        headers = {"content-type": wire.content_type, **options.get("headers", {})}
        return Reply(tuple(part(wire) for part in parts), **{**options, "headers": headers})

    return reply


def refuses(status: int, error: Any = "Out of luck", **headers: str) -> Callable[[Wire], Reply]:
    """An error in the server's own form."""

    def reply(wire: Wire) -> Reply:
        named = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        return Reply((wire.failure(error),), status, named)

    return reply


def page(status: int) -> Callable[[Wire], Reply]:
    """A web page."""
    body = b"<!doctype html><html><body><h1>Bad Gateway</h1><p>nginx</p></body></html>"
    return lambda wire: Reply((body,), status, {"content-type": "text/html"})


def half(wire: Wire) -> bytes:
    return wire.text(HALF)


def rest(wire: Wire) -> bytes:
    return wire.text(WHOLE.removeprefix(HALF))


def end(wire: Wire) -> bytes:
    return wire.end()


def breaks(message: str) -> Callable[[Wire], bytes]:
    return lambda wire: wire.error_in_stream(message)


def nested(wire: Wire) -> bytes:
    """An event with a list in a list, and so on, where its text should be."""
    return wire.text("x").replace(b'"x"', b"[" * 5_000 + b"]" * 5_000)


def zipped(wire: Wire) -> Reply:
    body = gzip.compress(half(wire) + rest(wire) + end(wire))
    return Reply((body[:20], body[20:]), headers={"content-type": wire.content_type, "content-encoding": "gzip"})


def overflows() -> list[dict[str, Any]]:
    """Every wording of an overflow that is known, with what it tells."""
    return [json.loads(line) for line in (FIXTURES / "overflow.jsonl").read_text("utf-8").splitlines()]


TOO_LARGE = "Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 43205."
UNREAD_CALL = 'Failed to parse input at pos 17: <tool_call>{"name": "look", "arguments": the context window'
UNREAD_JSON = 'error parsing tool call: raw=\'{"name": "look", "a\', err=unexpected end of JSON input'

FAULTS = (
    # --- the connection
    Fault("the connection is refused", None, "llm_refused"),
    Fault("closed without an answer", lambda wire: HANG_UP, "llm_cut", "often", unseen=1),
    Fault("reset before the first word", answers(cut=True), "llm_cut", "often"),
    Fault("reset after the first words", answers(half, cut=True), "llm_cut", "continued", kept="half"),
    Fault("reset in a tool call", answers(lambda wire: wire.call(), cut=True), "llm_cut", "often"),
    Fault("reset after the end event", answers(half, rest, end, cut=True), "done", kept="whole"),
    Fault("the stream ends without its end event", answers(half), "llm_cut", "continued", kept="half"),
    Fault(
        "the stream ends in the middle of an event",
        answers(half, lambda wire: wire.text("wer.")[:-9]),
        "llm_cut",
        "continued",
        kept="half",
    ),
    Fault(
        "half an event, then the next ones",
        answers(half, lambda wire: wire.text("wer.")[:-9] + b"\n\n", rest, end),
        "llm_garbled",
        "continued",
        kept="half",
    ),
    Fault("an event nested thousands deep", answers(half, nested, rest, end), "llm_garbled", "continued", kept="half"),
    Fault("no last chunk, after the end event", answers(half, rest, end, unfinished=True), "done", kept="whole"),
    Fault("no last chunk, in the middle", answers(half, unfinished=True), "llm_cut", "continued", kept="half"),
    Fault("silence in the middle", answers(half, rest, hold_before=1), "llm_idle", kept="half"),
    Fault("silence before the first word", answers(half, rest, end, hold_head=True), "done", kept="whole", waits=True),
    Fault("headers, then silence", answers(half, rest, end, hold_before=0), "done", kept="whole", waits=True),
    Fault(
        "for a while only signs of life",
        answers(lambda wire: wire.keep_alive, half, rest, end, hold_before=1),
        "done",
        kept="whole",
        waits=True,
    ),
    # --- statuses
    Fault("401", refuses(401), "llm_unauthorized"),
    Fault("403", refuses(403), "llm_unauthorized"),
    Fault("404, no such model", refuses(404, 'model "m" not found'), "llm_model_not_found"),
    Fault("404, anything else", refuses(404), "llm_bad_request"),
    Fault("408", refuses(408), "llm_server_failed", "often"),
    Fault("413", refuses(413, "Request Entity Too Large"), "llm_context_overflow"),
    Fault("429 with Retry-After", refuses(429, retry_after="2"), "llm_rate_limited", "often"),
    Fault("429 without Retry-After", refuses(429), "llm_rate_limited", "often"),
    Fault("429, wait for a day", refuses(429, retry_after="86400"), "llm_rate_limited"),
    Fault("429, quota used up", refuses(429, {"message": "no", "code": "insufficient_quota"}), "llm_quota_spent"),
    Fault("429, more than a minute's allowance at once", refuses(429, TOO_LARGE), "llm_context_overflow"),
    Fault("500", refuses(500), "llm_server_failed", "often"),
    Fault("500, the model's call cannot be read", refuses(500, UNREAD_CALL), "llm_bad_call", "reworded"),
    Fault("500, the model's JSON cannot be read", refuses(500, UNREAD_JSON), "llm_bad_call", "reworded"),
    Fault("503", refuses(503), "llm_server_failed", "often"),
    Fault("503, loading the model", refuses(503, "Loading model"), "llm_loading", "loading"),
    Fault("a redirect", lambda wire: Reply((b"",), 307, {"location": "/v2"}), "llm_malformed"),
    # --- bodies
    Fault("a web page as an error", page(502), "llm_server_failed", "often"),
    Fault("a web page as an answer", page(200), "llm_malformed"),
    Fault("compressed, although not requested", zipped, "done", kept="whole"),
    Fault(
        "labelled as compressed, but not compressed",
        answers(half, headers={"content-encoding": "gzip"}),
        "llm_malformed",
    ),
    Fault(
        "not streamed, although a stream was requested",
        lambda wire: Reply((wire.whole(WHOLE),), headers={"content-type": "application/json"}),
        "done",
        kept="whole",
    ),
    Fault(
        "a stream labelled as text",
        answers(half, rest, end, headers={"content-type": "text/plain"}),
        "done",
        kept="whole",
    ),
    Fault("an error with status 200", refuses(200), "llm_server_failed", "often"),
    Fault("an unknown address with status 200", refuses(200, "Unexpected endpoint or method."), "llm_malformed"),
    Fault(
        "an error in the stream", answers(half, breaks("out of memory")), "llm_server_failed", "continued", kept="half"
    ),
    Fault("an error at the beginning of the stream", answers(breaks("out of memory")), "llm_server_failed", "often"),
    Fault("an unreadable call in the stream", answers(breaks(UNREAD_CALL)), "llm_bad_call", "reworded"),
    Fault(
        "an unreadable call, after words",
        answers(half, breaks(UNREAD_CALL)),
        "llm_bad_call",
        "continued once",
        kept="half",
    ),
    # --- answers
    Fault("an empty body", answers(), "llm_cut", "often"),
    Fault("an end event with nothing before it", answers(end), "llm_empty", "asked"),
    Fault("only white space", answers(lambda wire: wire.text(""), end), "llm_empty", "asked"),
    Fault("thinking, but no answer", answers(lambda wire: wire.thinking("Hm."), end), "llm_only_thought", "asked"),
    Fault(
        "the token limit is reached while thinking",
        answers(lambda wire: wire.thinking("Hm."), lambda wire: wire.end("length")),
        "llm_thinking_cut",
        "asked",
    ),
    Fault(
        "the token limit is reached",
        answers(half, rest, lambda wire: wire.end("length")),
        "limit",
        "continued once",
        kept="whole",
    ),
    # --- the window
    *(
        Fault(
            f"the prompt is too long: {known['server']}",
            answers(lambda wire, error=known["error"]: wire.error_in_stream(error))
            if known["in_stream"]
            else refuses(known["status"], known["error"]),
            "llm_context_overflow",
        )
        for known in overflows()
    ),
)

_AGAIN = {
    "no": "no",
    "once": "once, immediately",
    "often": "`llm.max_retries` times",
    "loading": "every 3 s, for 3 minutes",
    "reworded": "once, immediately; then once more with the calls as text",
    "continued": "`llm.max_retries` times, to continue",
    "continued once": "once, to continue",
    "asked": "twice, to get an answer",
}
_KEPT = {"whole": "the answer", "half": "what arrived, with a note", "nothing": "a note that there is no answer"}

INTRODUCTION = """\
# When a model server fails

<!-- Written by scripts/faults_doc.py from tests/support/faults.py, which the tests play. -->

A test plays every row of the table for LM Studio, Ollama and other OpenAI-compatible servers: the request ends as the
row says, nothing hangs, and the conversation can continue. Five rules are behind it:

- **Before anything is shown, a request may be sent again.** If its failure may pass, it is sent again after the time
  that the server asks for (`Retry-After`, up to a minute) or after growing waits. Thinking counts as shown; a piece of
  a tool call does not, since it is useless until it is complete.
- **After that, the model is asked to continue** if the failure may pass. It gets the text that has arrived, and if it
  repeats the end of that text, nothing is shown twice. If nothing is shown before the end (a one-shot run, unless with
  `--output stream-json`), the same request is sent again instead. If that does not help, the text that has arrived is
  kept, with a note that it is incomplete. Calls in a broken answer are not run. A text that reaches the token limit is
  continued once.
- **The model's own mistakes are no failure of the server.** A model that gives no answer (it only thought, the limit
  came while it was thinking, or it said nothing) is asked for one twice, without thinking if the server can do that
  (Ollama, llama.cpp, vLLM, SGLang). Then the run ends as at any limit, with a report and exit code 3. The same happens
  if a prompt stays too long.
- **Only silence in the middle of an answer has a deadline** (`idle_timeout`): a server may read a long prompt as long
  as it likes, and a sign of life is not yet an answer.
- **A prompt that is too long is not sent again unchanged.** The error carries what the server reported
  (`n_prompt_tokens`, `n_ctx`), and from then on `n_ctx` is taken as the window. Some servers drop the beginning of a
  long prompt without a word: their counts stay at the same size while the prompt grows. That size is then taken as the
  window. If only the requested length of the answer does not fit (`llm.max_tokens`), the request is sent again without
  that limit.

A server that has answered before and now refuses the connection is assumed to be restarting: it is tried again after 1,
2, 4, … seconds, `llm.max_retries` times. If a server cannot be reached, keeps failing or keeps cutting its answers off,
those in `llm.fallback_providers` are asked instead.

If a server comes back with another model and you have named none (neither `llm.model`, `--model` nor `/model`), its
only model answers from then on, which a line says with the new window. If it offers several, the request returns to the
prompt of the chat, to be sent again after `/model NAME`.

A server such as llama.cpp's answers with its only model under any name. So in a chat such a server is asked for its
model and window before each of your requests: another one, or the same with another window, is noticed in the same way.
"""


def document() -> str:
    """docs/faults.md."""
    return "\n".join([INTRODUCTION, *_table(), ""])


def _table() -> Iterator[str]:
    yield "| what happens | what it ends in | sent again | what the conversation keeps |"
    yield "|---|---|---|---|"
    for fault in FAULTS:
        yield f"| {fault.name} | {_ending(fault)} | {_AGAIN[fault.again]} | {_KEPT[fault.kept]} |"


def _ending(fault: Fault) -> str:
    from localllm.base.error_texts import ERRORS

    match fault.ends:
        case "done":
            return "the answer"
        case "limit":
            return "the answer, with a note that it was cut off"
        case key:
            return f"{ERRORS[key].code} `{key}`"
