"""The JSON of the design paper: what /generate, /health and /agents answer. Additions stand under `runtime`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Meta, Struct, to_builtins
from msgspec.structs import asdict, replace

from localllm.base.errors import LocalLLMError
from localllm.base.events import Json, Usage
from localllm.base.i18n import _
from localllm.ensemble.answer_checks import CHECK_OUTPUT
from localllm.ensemble.config import AgentConfig, EnsembleConfig
from localllm.ensemble.hosts import HostReport
from localllm.ensemble.records import EnsembleResult, WorkerAnswer
from localllm.ensemble.run import all_failed
from localllm.llm.addresses import apart_from_password

Runtime = Annotated[dict[str, Json], Meta(description="What the paper's JSON has no key for.")]


class ErrorDetail(Struct, frozen=True, kw_only=True):
    """What went wrong: a stable code such as E1166; what, why and the fix."""

    code: str
    message: str


class ErrorBody(Struct, frozen=True, kw_only=True):
    """An error, and nothing else."""

    error: ErrorDetail


class WorkerResponse(Struct, frozen=True, kw_only=True):
    """A worker's answer, or "Error: …" in its place."""

    agent_name: str
    response: str


class Metadata(Struct, frozen=True, kw_only=True):
    """What a run counted."""

    total_workers: int
    successful_workers: int
    failed_workers: int
    processing_time_seconds: float


class GenerateAnswer(Struct, frozen=True, kw_only=True):
    """The outcome of a run."""

    final_answer: str
    review_comment: str
    worker_responses: tuple[WorkerResponse, ...]
    metadata: Metadata
    runtime: Runtime


class GenerateFailure(GenerateAnswer, frozen=True, kw_only=True):
    """A run, or a request, that failed: the same keys, with what could be had, and the error."""

    error: ErrorDetail


class Turns(Struct, frozen=True):
    """A conversation, and how many turns of it came before."""

    conversation_id: str
    before: int


class Health(Struct, frozen=True, kw_only=True):
    """Whether the server takes requests."""

    status: Literal["ok", "stopping"]
    timestamp: Annotated[str, Meta(description="Now, in UTC.", extra_json_schema={"format": "date-time"})]


class Agent(Struct, frozen=True, kw_only=True):
    """A model behind an address; a password in that is not shown."""

    name: str
    model: str
    api_url: str


class Agents(Struct, frozen=True, kw_only=True):
    """Who reviews and who works."""

    reviewer: Agent
    workers: tuple[Agent, ...]
    runtime: Runtime


def detail(error: LocalLLMError) -> ErrorDetail:
    """Convert an error for a client."""
    return ErrorDetail(code=error.code, message=str(error))


def status_of(result: EnsembleResult) -> int:
    """Return the HTTP status of a run: 502 if no worker has answered, 500 if the reviewer failed, else 200."""
    if result.all_failed:
        return 502
    return 500 if result.reviewer_error else 200


def failure_of(result: EnsembleResult) -> LocalLLMError | None:
    """Return why a run has no reviewed answer; None if it has one."""
    return all_failed(result.answers) if result.all_failed else result.reviewer_error


def generate_body(
    result: EnsembleResult, turns: Turns | None, more: Mapping[str, Json] = MappingProxyType({})
) -> GenerateAnswer:
    """Build the body of a finished run, successful or not. `more` and the conversation, if any, are added to
    `runtime`."""
    failed = sum(answer.has_failed for answer in result.answers)
    metadata = Metadata(
        total_workers=len(result.answers),
        successful_workers=len(result.answers) - failed,
        failed_workers=failed,
        processing_time_seconds=round(result.seconds, 3),
    )
    answers = tuple(WorkerResponse(agent_name=answer.agent, response=shown(answer)) for answer in result.answers)
    error = failure_of(result)
    comment = result.review_comment or (_("Error: {error}", error=error) if error else "")
    answered = GenerateAnswer(
        final_answer=result.final_answer,
        review_comment=comment,
        worker_responses=answers,
        metadata=metadata,
        runtime={**_runtime(result), **_conversation(turns), **more},
    )
    return GenerateFailure(**asdict(answered), error=detail(error)) if error else answered


def failure_body(error: LocalLLMError) -> GenerateFailure:
    """Build the body for an error without a finished run."""
    return GenerateFailure(
        final_answer="",
        review_comment=_("Error: {error}", error=error),
        worker_responses=(),
        metadata=Metadata(total_workers=0, successful_workers=0, failed_workers=0, processing_time_seconds=0.0),
        runtime={},
        error=detail(error),
    )


def shown(answer: WorkerAnswer) -> str:
    """Return a worker's `response`: its answer, or its error on one line."""
    if answer.error is None:
        return answer.text
    return _("Error: {error}", error=" ".join(str(answer.error).split()))


def health_body(*, is_stopping: bool) -> Health:
    """Build the body of /health, with the time in whole seconds."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Health(status="stopping" if is_stopping else "ok", timestamp=now)


def agents_body(config: EnsembleConfig, hosts: Sequence[HostReport]) -> Agents:
    """Describe the agents of a configuration and the state of their hosts."""
    workers = tuple(_agent(worker) for worker in config.worker_agents)
    runtime: dict[str, Json] = {"hosts": [_host(host) for host in hosts]}
    return Agents(reviewer=_agent(config.reviewer_agent), workers=workers, runtime=runtime)


def _agent(agent: AgentConfig) -> Agent:
    return Agent(name=agent.name, model=agent.model, api_url=without_secrets(agent.api_url))


def _host(host: HostReport) -> dict[str, Json]:
    told = to_builtins(replace(host, address=without_secrets(host.address), error=None))
    return told | {"error": to_builtins(detail(host.error)) if host.error else None}


def without_secrets(url: str) -> str:
    """Strip user, password and query from an address: gateways accept keys in the query."""
    shown, query, _values = apart_from_password(url)[0].partition("?")
    return f"{shown}?…" if query else shown


def _runtime(result: EnsembleResult) -> dict[str, Json]:
    """Build `runtime`, without what checks have printed: whoever may ask can have the code of an answer run in
    one, which prints files of the project."""
    told = {name: value for name, value in result.runtime.items() if name != CHECK_OUTPUT}
    return {
        "run_id": result.run_id,
        **told,
        "workers": [_worker_runtime(answer) for answer in result.answers],
        "usage": usage_json(result.usage),
    }


def _conversation(turns: Turns | None) -> dict[str, Json]:
    return {"conversation_id": turns.conversation_id, "conversation_turns": turns.before} if turns else {}


def _worker_runtime(answer: WorkerAnswer) -> dict[str, Json]:
    """Describe a worker's result, in the order of `worker_responses`."""
    told: dict[str, Json] = {"agent_name": answer.agent, "model": answer.model, "seconds": round(answer.seconds, 3)}
    if answer.usage:
        told["usage"] = usage_json(answer.usage)
    if answer.error:
        told["error_code"] = answer.error.code
    if answer.is_cancelled:
        told["is_cancelled"] = True
    return told


def usage_json(usage: Usage) -> dict[str, Json]:
    """Return the tokens by OpenAI's names."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
