"""The tool search_files."""

from localllm.tools.context import ToolContext
from localllm.tools.definition import Risk, ToolOutput
from localllm.tools.registry import tool
from localllm.tools.wanted_lines import WantedLines


@tool(risk=Risk.SAFE, paths=("path",), unlisted=("code",), rare=("ignore_case", "max_results"))
async def search_files(
    context: ToolContext,
    pattern: str,
    path: str = ".",
    include: str = "",
    ignore_case: bool = False,
    max_results: int = 100,
    code: WantedLines | None = None,
) -> ToolOutput:
    """Search files for a regular expression.

    include: glob such as *.py
    """
    from localllm.tools.searching import Request, glob_of, search, understand, understand_code

    if code:
        query, reason = understand_code(pattern, code, ignore_case=ignore_case)
        include = include or glob_of(code)
    else:
        query, reason = understand(pattern, ignore_case=ignore_case)
    request = Request(query, context.root.relative(path), include, max(1, max_results), pattern)
    return await search(context, request, reason)
