"""Asking the model for one answer, shown as it arrives."""

import msgspec

from localllm.agent.repetition_guard import Chanting, ChantWatch
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Emit, Notice, TextDelta, ThinkingDelta, Usage
from localllm.base.i18n import tr
from localllm.llm.client import LLMClient
from localllm.llm.message_assembly import MessageAssembler
from localllm.llm.messages import Completion, Message, ToolChoice, ToolSpec
from localllm.llm.providers.base import Chunk, TextChunk, ThinkingChunk
from localllm.llm.retry import Stopwatch


async def ask(
    client: LLMClient,
    messages: tuple[Message, ...],
    tools: tuple[ToolSpec, ...],
    emit: Emit,
    *,
    tool_choice: ToolChoice,
    gathered: MessageAssembler,
) -> Completion:
    """The model's answer, its pieces and whatever a person should know of it emitted on the way, and gathered.

    One that says a passage over and over is broken off (which closes the connection, so that the server stops) and
    kept without the repetition. Raises LLMConnectionError.
    """
    watch, clock = ChantWatch(), Stopwatch()

    def show(chunk: Chunk) -> None:
        clock.note(chunk)
        match chunk:
            case TextChunk(text):
                emit(TextDelta(text=text))
            case ThinkingChunk(text):
                emit(ThinkingDelta(text=text))
            case _:
                pass
        watch.see(chunk)

    def tell(error: LLMConnectionError, seconds: float) -> None:
        clock.start()
        note(tr("agent.retry", what=error.what, seconds=seconds))

    def note(text: str) -> None:
        emit(Notice(text=text, level="warning"))

    try:
        return await client.complete(
            messages, tools, tool_choice=tool_choice, on_chunk=show, on_retry=tell, on_notice=note, assembler=gathered
        )
    except Chanting as chant:
        said = gathered.message(with_calls=False)
        usage = Usage(  # the server could not say so any more
            prompt_tokens=client.estimate_prompt(messages, tools),
            completion_tokens=client.estimate_tokens(said.text + said.thinking),
            estimated=True,
            first_token_seconds=clock.first,
            total_seconds=clock.total,
            generation_seconds=clock.generation,
        )
        return msgspec.structs.replace(chant.completion(gathered), usage=usage)
