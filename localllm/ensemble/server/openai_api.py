"""The ensemble as a model of an OpenAI-compatible server: GET /v1/models, POST /v1/chat/completions."""

import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from localllm.base.errors import LocalLLMError
from localllm.base.i18n import Phrase, _
from localllm.ensemble.answer_stream import AnswerStream, Piece
from localllm.ensemble.conversations import new_id
from localllm.ensemble.records import (
    EnsembleResult,
    Question,
    ReviewStarted,
    ReviewText,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkerAnswer,
    WorkerFinished,
)
from localllm.ensemble.server.event_stream import EventStream, event_frame
from localllm.ensemble.server.limits import RequestGate
from localllm.ensemble.server.openai_bodies import (
    MODELS,
    AnswerMessage,
    AssistantTurn,
    ChatChunk,
    ChatCompletion,
    ChatRequest,
    ChatTurn,
    ChatUsage,
    Choice,
    ChunkChoice,
    Delta,
    Model,
    ModelList,
    UserTurn,
    chat_usage,
    text_of,
)
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.paper_bodies import failure_of, status_of
from localllm.ensemble.server.refusals import NOT_AGAIN, RefusalError, json_response, openai_error
from localllm.ensemble.server.request_bodies import is_blank, read_request
from localllm.ensemble.server.runs import Asked, EnsembleRuns
from localllm.llm.message_format import normalised
from localllm.llm.messages import AssistantMessage, Message, SystemMessage, UserMessage

_MOST_MESSAGES = 10_000
"""Most messages of a request, counted by their parts: processing them blocks other requests."""

_GO_ON = "Go on."
"""The prompt for a conversation that ends with an answer."""

_UNSUPPORTED = {
    "tools": "The ensemble does not support tools",
    "functions": "The ensemble does not support functions",
    "n": "Unsupported value: 'n'; the ensemble gives one answer",
    "response_format": "Unsupported parameter: 'response_format'; the ensemble answers in text",
}
"""Errors for unsupported fields, in the words clients match on: English in every language."""

_NO_PICTURES = "The ensemble does not support images, nor other parts of a message than text"

_MERGED = ("review", "rank")
"""Strategies whose answer the reviewer writes, so that it can be streamed."""

_DONE = b"data: [DONE]\n\n"


class OpenAIApi:
    """The endpoints."""

    def __init__(self, runs: EnsembleRuns, gate: RequestGate, options: ServerOptions) -> None:
        self._runs = runs
        self._gate = gate
        self._options = options

    async def models(self, request: Request) -> Response:
        """List the ensemble and each of its strategies as a model."""
        del request
        return json_response(ModelList(data=tuple(Model(id=name) for name in MODELS)))

    async def completions(self, request: Request) -> Response:
        """Answer a conversation, streamed or not."""
        with ExitStack() as place:
            ticket = place.enter_context(self._gate.admitted())
            hops = self._runs.hops(request.scope)
            asked = await self._read(request)
            question = question_in(asked, hops)
            run = Asked(question=question)
            if asked.stream:
                frames = self._frames(run, asked)
                return EventStream(frames, place.pop_all(), ticket, _ending, self._options.keep_alive_seconds)
            result = await ticket.run(self._runs.result(run), request.receive)
        if error := failure_of(result):
            status = status_of(result)
            return json_response(openai_error(error, status), status, NOT_AGAIN)
        return json_response(_completion(result, asked.model))

    async def _read(self, request: Request) -> ChatRequest:
        try:
            return await read_request(request, ChatRequest, self._options, status=400)
        except RefusalError as refusal:
            if reason := _unsupported(refusal):
                param = refusal.param
                raise RefusalError(
                    "api_bad_request", status=400, param=param, name="unsupported_parameter", reason=reason
                ) from refusal
            raise

    async def _frames(self, run: Asked, asked: ChatRequest) -> AsyncGenerator[bytes]:
        wants_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        writer = _ChunkWriter(asked.model, wants_usage=wants_usage)
        yield writer.begin()
        async with aclosing(self._runs.events(run)) as events:
            async for event in events:
                if frame := writer.frame(event):
                    yield frame


class _ChunkWriter:
    """Format the events of one streamed answer: progress and the evaluation as reasoning, then the answer."""

    def __init__(self, model: str, *, wants_usage: bool) -> None:
        self._model = model
        self._wants_usage = wants_usage
        self._id = f"chatcmpl-{new_id()}"
        self._created = int(time.time())
        self._answer = AnswerStream()
        self._is_merged = self._has_comment = False

    def begin(self) -> bytes:
        """Return the first event, with the role."""
        return self._piece(Delta(role="assistant", content=""))

    def frame(self, event: RunEvent) -> bytes:
        """Format an event; empty for events that are not sent."""
        match event:
            case RunStarted():
                self._is_merged = event.strategy in _MERGED
                return b""
            case WorkerFinished(_, answer):
                return self._piece(Delta(reasoning_content=_told(answer)))
            case ReviewStarted():
                self._answer.begin()
                return b""
            case ReviewText(text) if self._is_merged:
                return b"".join(map(self._shown, self._answer.feed(text)))
            case RunFinished(result):
                return self._end(result)
            case _:
                return b""

    def _shown(self, piece: Piece) -> bytes:
        if piece.part == "answer":
            return self._piece(Delta(content=piece.text))
        before = "" if self._has_comment else "\n"
        self._has_comment = True
        return self._piece(Delta(reasoning_content=f"{before}{piece.text}"))

    def _end(self, result: EnsembleResult) -> bytes:
        if error := failure_of(result):
            return event_frame("", openai_error(error, status_of(result))) + _DONE
        comment = "" if self._has_comment else result.review_comment
        pieces = [
            self._piece(Delta(reasoning_content=f"\n{comment}")) if comment else b"",
            self._piece(Delta(content=rest)) if (rest := self._answer.rest(result.final_answer)) else b"",
            self._piece(Delta(), result.finish_reason),
            self._frame((), chat_usage(result.usage)) if self._wants_usage else b"",
        ]
        return b"".join([*pieces, _DONE])

    def _piece(self, delta: Delta, finish_reason: str | None = None) -> bytes:
        return self._frame((ChunkChoice(delta=delta, finish_reason=finish_reason),), None)

    def _frame(self, choices: tuple[ChunkChoice, ...], usage: ChatUsage | None) -> bytes:
        told = usage if self._wants_usage else msgspec.UNSET
        chunk = ChatChunk(id=self._id, created=self._created, model=self._model, choices=choices, usage=told)
        return event_frame("", chunk)


def _unsupported(refusal: RefusalError) -> str:
    """Return why the ensemble cannot serve a request; empty for other errors."""
    place = refusal.param or ""
    if ".content" in place and place.endswith(".type"):
        return _NO_PICTURES
    return _UNSUPPORTED.get(place.partition(".")[0].partition("[")[0], "")


def question_in(asked: ChatRequest, hops: tuple[str, ...]) -> Question:
    """Convert a conversation to a question: its last message, with those before as history. Raises RefusalError."""
    if asked.model not in MODELS:
        available = ", ".join(MODELS)
        raise RefusalError(
            "api_no_model", status=404, param="model", name="model_not_found", model=asked.model, available=available
        )
    counts = (len(turn.content) if isinstance(turn.content, list) else 1 for turn in asked.messages)
    if sum(counts) > _MOST_MESSAGES:
        reason = Phrase("There are more than {most} messages, or parts of them", most=_MOST_MESSAGES)
        raise RefusalError("api_bad_request", status=400, reason=reason, param="messages")
    said = [_message(turn) for turn in asked.messages if not _is_blank(turn)]
    if not any(isinstance(message, UserMessage) for message in said):
        raise RefusalError("api_no_prompt", status=400, param="messages")
    system, turns = "", normalised(said)
    if isinstance(turns[0], SystemMessage):
        system, turns = turns[0].text, turns[1:]
    history = tuple(turn for turn in turns if isinstance(turn, UserMessage | AssistantMessage))
    prompt = _GO_ON
    if isinstance(history[-1], UserMessage):
        prompt, history = history[-1].text, history[:-1]
    return Question(
        prompt=prompt,
        system=system,
        history=history,
        strategy=MODELS[asked.model],
        hops=hops,
        stream=bool(asked.stream),
    )


def _is_blank(turn: ChatTurn) -> bool:
    return is_blank(text_of(turn.content))


def _message(turn: ChatTurn) -> Message:
    text = text_of(turn.content)
    match turn:
        case UserTurn():
            return UserMessage(text)
        case AssistantTurn():
            return AssistantMessage(text)
        case _:
            return SystemMessage(text)


def _completion(result: EnsembleResult, model: str) -> ChatCompletion:
    message = AnswerMessage(content=result.final_answer, reasoning_content=result.review_comment)
    return ChatCompletion(
        id=f"chatcmpl-{result.run_id}",
        created=int(time.time()),
        model=model,
        choices=(Choice(message=message, finish_reason=result.finish_reason),),
        usage=chat_usage(result.usage),
    )


def _told(answer: WorkerAnswer) -> str:
    """Format a line on the result of a worker."""
    seconds = f"{answer.seconds:.1f}"
    told = _("{agent} has answered in {seconds} s.", agent=answer.agent, seconds=seconds)
    if answer.error is not None:
        error = answer.error.what
        told = _("{agent} has failed after {seconds} s: {error}", agent=answer.agent, seconds=seconds, error=error)
    return f"{told}\n"


def _ending(error: LocalLLMError) -> bytes:
    status = error.status if isinstance(error, RefusalError) else 500
    return event_frame("", openai_error(error, status)) + _DONE
