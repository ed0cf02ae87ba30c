"""`localllm rag chat`: answer questions in a loop, from the collections alone."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from localllm.app.app import LocalLLMCode
from localllm.app.knowledge_chat import KnowledgeChat
from localllm.base.errors import InternalError, KnowledgeBaseUsageError, LocalLLMError
from localllm.base.i18n import _
from localllm.cli.interruption import Interruption
from localllm.cli.settings import print_error, say
from localllm.config.loader import Loaded
from localllm.rag.knowledge_base import KnowledgeBase
from localllm.sessions.ipo_log import IpoLog
from localllm.tui.headless import Headless, OutputFormat, exit_code, read_lines
from localllm.tui.signals import ForcedEnd, add_handlers

_SECONDS_TO_CLOSE = 10.0
_LEAVING = ("exit", "quit", "/exit", "/quit", "終了")


def run_chat(
    project: Path,
    loaded: Loaded,
    prompt: str | None,
    ipo: Path | None,
    output: OutputFormat,
    *,
    collections: Sequence[str],
    accept_no_sandbox: bool,
) -> int:
    """Answer `prompt`, or every typed line, from these collections, or all; return the exit code. Raises
    LocalLLMError."""
    front_end = Headless(output if prompt else "text")
    app = LocalLLMCode(
        project, loaded, front_end, environ=os.environ, here=Path.cwd(), accept_no_sandbox=accept_no_sandbox
    )
    if (knowledge := app.knowledge()) is None:
        raise KnowledgeBaseUsageError("rag_no_collections")
    knowledge.limit_to(collections)
    forced_end = ForcedEnd()
    try:
        return asyncio.run(_run(app, knowledge, front_end, prompt, IpoLog(ipo) if ipo else None, forced_end))
    finally:
        forced_end.call_off()


async def _run(
    app: LocalLLMCode,
    knowledge: KnowledgeBase,
    front_end: Headless,
    prompt: str | None,
    ipo: IpoLog | None,
    forced_end: ForcedEnd,
) -> int:
    code = InternalError.exit_code
    await app.initialize()
    try:
        async with knowledge:
            await app.settled()
            await app.llm_client.get_ready()
            chat = KnowledgeChat(app.llm_client, app.tool_system, knowledge, settings=app.settings.agent, ipo=ipo)
            for notice in (*app.notices(), *app.warnings()):
                say(notice)
            if prompt is not None:
                code = await _turn(front_end, chat, prompt, forced_end)
            else:
                code = await _loop(front_end, chat, forced_end)
            return code
    finally:
        forced_end.begin(code, _SECONDS_TO_CLOSE)  # threads are waited for after this as well
        await app.cleanup()


async def _loop(front_end: Headless, chat: KnowledgeChat, forced_end: ForcedEnd) -> int:
    """Answer line by line until exit, quit or the end of the input. A failed turn is logged and shown, and the loop
    continues."""
    code = 0
    if sys.stdin.isatty():
        say(_("Ask about your collections; exit or quit leaves."))
    async for line in _typed():
        question = line.strip()
        if question.casefold() in _LEAVING:
            break
        if not question:
            continue
        try:
            code = await _turn(front_end, chat, question, forced_end)
        except LocalLLMError as error:
            print_error(error)
            code = error.exit_code
    return 0 if sys.stdin.isatty() else code


async def _typed() -> AsyncGenerator[str]:
    """Yield the typed or piped lines."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        async for line in read_lines(sys.stdin):
            yield line
        return
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession()
    while True:
        try:
            yield await session.prompt_async("> ")
        except KeyboardInterrupt:
            continue  # the line is discarded, as in a shell
        except EOFError:
            return


async def _turn(front_end: Headless, chat: KnowledgeChat, question: str, forced_end: ForcedEnd) -> int:
    """Answer one question; Ctrl+C interrupts it, a second time it ends a program that hangs. Returns its exit code."""
    loop = asyncio.get_running_loop()
    interruption = Interruption(chat.interrupt, forced_end)
    with suppress(NotImplementedError):  # Windows: Ctrl+C ends the program
        add_handlers({"SIGINT": partial(interruption.take, signal.SIGINT)}, forced_end.arm)
    try:
        await front_end.consume(chat.run(question))
    finally:
        forced_end.call_off()
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
    return 1 if front_end.finished is None else exit_code(front_end.finished)
