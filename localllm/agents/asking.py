"""Asking the model for one answer, shown as it arrives."""

from localllm.agents.chanting import Chanting, ChantWatch
from localllm.base.errors import LLMConnectionError
from localllm.base.events import Emit, Notice, TextDelta, ThinkingDelta
from localllm.base.i18n import tr
from localllm.llm.assembling import MessageAssembler
from localllm.llm.clients import LLMClient
from localllm.llm.messages import Completion, Message, ToolChoice, ToolSpec
from localllm.llm.providers.base import Chunk, TextChunk, ThinkingChunk


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
    watch = ChantWatch()

    def show(chunk: Chunk) -> None:
        match chunk:
            case TextChunk(text):
                emit(TextDelta(text=text))
            case ThinkingChunk(text):
                emit(ThinkingDelta(text=text))
            case _:
                pass
        watch.see(chunk)

    def tell(error: LLMConnectionError, seconds: float) -> None:
        note(tr("agent.retry", what=error.what, seconds=seconds))

    def note(text: str) -> None:
        emit(Notice(text=text, level="warning"))

    try:
        return await client.complete(
            messages, tools, tool_choice=tool_choice, on_chunk=show, on_retry=tell, on_notice=note, assembler=gathered
        )
    except Chanting as chant:
        return chant.completion(gathered)
