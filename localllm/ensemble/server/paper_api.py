"""The design paper's API: POST /generate, the same as a stream of events, GET /health and GET /agents."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import ExitStack, aclosing

from starlette.requests import Request
from starlette.responses import Response

from localllm.base.errors import LocalLLMError
from localllm.ensemble.config import EnsembleConfig
from localllm.ensemble.conversations import new_id
from localllm.ensemble.hosts import HostReport
from localllm.ensemble.records import Question
from localllm.ensemble.server.event_bodies import EventWriter
from localllm.ensemble.server.event_stream import MEDIA_TYPE, EventStream, event_frame
from localllm.ensemble.server.limits import RequestGate, header
from localllm.ensemble.server.options import ServerOptions
from localllm.ensemble.server.paper_bodies import (
    Turns,
    agents_body,
    detail,
    generate_body,
    health_body,
    status_of,
)
from localllm.ensemble.server.refusals import RefusalError, json_response
from localllm.ensemble.server.request_bodies import GenerateRequest, is_blank, read_request
from localllm.ensemble.server.runs import Asked, EnsembleRuns

Report = Callable[[], Awaitable[Sequence[HostReport]]]
"""Returns the state of the agents' hosts: shared hosts, loaded models and their windows."""


class PaperApi:
    """The endpoints. `config`: returns the current configuration."""

    def __init__(
        self,
        runs: EnsembleRuns,
        gate: RequestGate,
        options: ServerOptions,
        config: Callable[[], EnsembleConfig],
        report: Report | None = None,
    ) -> None:
        self._runs = runs
        self._gate = gate
        self._options = options
        self._config = config
        self._report = report

    async def generate(self, request: Request) -> Response:
        """Run a question and return its result; as events, if the configuration allows and the client accepts them."""
        if self._config().system_settings.stream and MEDIA_TYPE in header(request.scope, b"accept"):
            return await self.stream(request)
        with self._gate.admitted() as ticket:
            asked = await self._asked(request, is_watched=False)
            result = await ticket.run(self._runs.result(asked), request.receive)
        return json_response(generate_body(result, asked.turns), status_of(result))

    async def stream(self, request: Request) -> Response:
        """Run a question and stream each agent's text as it arrives."""
        with ExitStack() as place:
            ticket = place.enter_context(self._gate.admitted())
            asked = await self._asked(request, is_watched=True)
            return EventStream(self._frames(asked), place.pop_all(), ticket, _ending, self._options.keep_alive_seconds)

    async def health(self, request: Request) -> Response:
        """Report whether the server accepts requests."""
        del request
        is_stopping = self._gate.is_stopping
        return json_response(health_body(is_stopping=is_stopping), 503 if is_stopping else 200)

    async def agents(self, request: Request) -> Response:
        """List the reviewer and the workers."""
        del request
        hosts = await self._report() if self._report else ()
        return json_response(agents_body(self._config(), hosts))

    async def _asked(self, request: Request, *, is_watched: bool) -> Asked:
        hops = self._runs.hops(request.scope)
        body = await read_request(request, GenerateRequest, self._options)
        if is_blank(body.prompt):
            raise RefusalError("api_no_prompt", status=422)
        turns, history = None, ()
        if body.conversation_id is not None:
            conversation_id = body.conversation_id or new_id()
            history = self._runs.conversations.history(conversation_id)
            turns = Turns(conversation_id, len(history) // 2)
        question = Question(prompt=body.prompt, history=history, strategy=body.strategy, hops=hops, stream=is_watched)
        return Asked(question=question, turns=turns)

    async def _frames(self, asked: Asked) -> AsyncGenerator[bytes]:
        writer = EventWriter(asked.turns)
        async with aclosing(self._runs.events(asked)) as events:
            async for event in events:
                yield writer.frame(event)


def _ending(error: LocalLLMError) -> bytes:
    return event_frame("error", detail(error))
