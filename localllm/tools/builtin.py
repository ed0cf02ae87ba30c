"""The tables of a session's tools, and analyze_code."""

from typing import TYPE_CHECKING

from localllm.config.schema import Settings
from localllm.safety.tool_definition import Risk, Tool, ToolOutput
from localllm.tools.context import ToolContext
from localllm.tools.edit import edit_file
from localllm.tools.files import create_file, list_files, read_file, write_file
from localllm.tools.git import git_commit, git_diff, git_log, git_status
from localllm.tools.knowledge import list_rag_collections, search_rag_knowledge_base
from localllm.tools.memory import recall, todo
from localllm.tools.registry import tool
from localllm.tools.search import search_files
from localllm.tools.shell import command_output, run_command
from localllm.tools.web import fetch_page, searxng_search, web_search, web_tools

if TYPE_CHECKING:
    from localllm.web.services import WebAccess


@tool(risk=Risk.SAFE, brief="Outline a source file, or map a folder.")
async def analyze_code(context: ToolContext, file_path: str) -> ToolOutput:
    """Outline a source file (definitions with lines, imports, complexity, syntax errors), or map a folder."""
    from localllm.tools.code_reports import look

    return await look(context, context.root.relative(file_path))


TOOLS: list[Tool] = [
    analyze_code,
    command_output,
    create_file,
    edit_file,
    git_commit,
    git_diff,
    git_log,
    git_status,
    list_files,
    read_file,
    recall,
    run_command,
    search_files,
    todo,
    write_file,
]
"""The tools of every session; a new one is a line here."""


KNOWLEDGE_TOOLS: tuple[Tool, ...] = (list_rag_collections, search_rag_knowledge_base)
"""Additional tools of a session that starts with collections."""


def all_tools() -> tuple[Tool, ...]:
    """Return every tool a rule may name, offered or not."""
    return (*TOOLS, *KNOWLEDGE_TOOLS, fetch_page, searxng_search, web_search)


def tools_for(settings: Settings, *, has_collections: bool = False) -> tuple[Tool, ...]:
    """Return the tools of a session with these settings."""
    knowledge = KNOWLEDGE_TOOLS if has_collections else ()
    return (*TOOLS, *knowledge, *(() if settings.offline else web_tools(settings.web)))


def web_for(settings: Settings) -> "WebAccess | None":
    """Return the web access of a session with these settings; None if they allow none."""
    if settings.offline or not settings.web.enabled:
        return None
    from localllm.web.services import open_web  # most sessions have none

    return open_web(settings.web)
